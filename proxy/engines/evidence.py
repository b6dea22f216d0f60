"""
What an extract reads: the folded rows, and around them the tool rounds of which only stubs stay in sight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxy.chat.groups import groups
from proxy.chat.messages import Message, is_tool_result
from proxy.compaction.layout import Layout, edited


def evidence(rows: Sequence[Message], layout: Layout) -> tuple[Message, ...]:
    """
    Return the rows that *layout* hides, whole or in part, in their order.

    Without the stubbed rounds of head and tail, what those tools said would stand nowhere.
    """
    stubbed = {edit.row for edit in layout.edits if edit.kind == "stub"}
    if not stubbed:
        return tuple(rows[layout.head_end : layout.cut])
    return (
        *_rounds(rows, range(layout.head_end), stubbed),
        *rows[layout.head_end : layout.cut],
        *_rounds(rows, range(layout.cut, len(rows)), stubbed),
    )


def tail_in_sight(rows: Sequence[Message], layout: Layout) -> tuple[Message, ...]:
    """
    Return the rows after the cut as the model will see them.
    """
    changed = edited(layout, rows)
    return tuple(changed.get(index, rows[index]) for index in range(layout.cut, len(rows)))


def _rounds(rows: Sequence[Message], span: range, stubbed: set[int]) -> Iterator[Message]:
    part = rows[span.start : span.stop]
    for group in groups(part):
        if stubbed.isdisjoint(range(span.start + group.start, span.start + group.end)):
            continue
        for row in part[group.start : group.end]:
            # The words beside a call are in sight; the call itself says what its result is of.
            yield row if is_tool_result(row) else {**row, "content": None}
