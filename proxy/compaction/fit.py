"""
Make kept rows fit by cutting inside the long ones: the last resort that always ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from proxy.chat.messages import Message, is_call_row, tool_calls
from proxy.compaction.edits import ARGUMENT_CHARACTERS, CUT_FIELDS, cut_lengths
from proxy.compaction.handover import ask_text
from proxy.compaction.layout import Layout
from proxy.records.record import Edit

SMALLEST_CAP = 120
"""Bodies are never cut below this many characters."""
LARGEST_CAP = 400_000

Fits = Callable[[Layout], bool]


def argument_edits(rows: Sequence[Message], *, start: int) -> tuple[Edit, ...]:
    """
    Return the edits that replace over-long call arguments from row *start* on.
    """
    return tuple(
        Edit(index, "arguments")
        for index in range(start, len(rows))
        if is_call_row(rows[index])
        and any(len(call.arguments) > ARGUMENT_CHARACTERS for call in tool_calls(rows[index]))
    )


def cut_bodies(layout: Layout, rows: Sequence[Message], *, fits: Fits) -> Layout:
    """
    Return the layout with bodies cut to the largest cap at which it *fits*.

    Where even the smallest cap is too large, the layout with that cap is returned: the caller decides what then.
    """
    if fits(layout):
        return layout
    low, high = SMALLEST_CAP, LARGEST_CAP
    if not fits(_capped(layout, rows, low)):
        return _capped(layout, rows, low)
    while high - low > max(low // 20, 16):
        middle = (low + high) // 2
        if fits(_capped(layout, rows, middle)):
            low = middle
        else:
            high = middle
    return _capped(layout, rows, low)


def _capped(layout: Layout, rows: Sequence[Message], cap: int) -> Layout:
    head, tail = cut_lengths(cap)
    stubbed = {edit.row for edit in layout.edits if edit.kind == "stub"}
    cuts = tuple(
        Edit(index, "cut", head, tail)
        for index in [*range(layout.head_end), *range(layout.cut, len(rows))]
        if index not in stubbed and _longest_text(rows[index]) > cap
    )
    shortened = replace(layout, edits=(*(edit for edit in layout.edits if edit.kind != "cut"), *cuts))
    if layout.restated is not None and len(ask_text(rows[layout.restated])) > cap:
        return replace(shortened, restated_head=head, restated_tail=tail)
    return shortened


def _longest_text(row: Message) -> int:
    longest = 0
    for field in CUT_FIELDS:
        value = row.get(field)
        if isinstance(value, str):
            longest = max(longest, len(value))
        elif isinstance(value, list):
            lengths = [len(p["text"]) for p in value if isinstance(p, dict) and isinstance(p.get("text"), str)]
            longest = max([longest, *lengths])
    return longest
