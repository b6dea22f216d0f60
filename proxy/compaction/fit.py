"""
Make kept rows fit by cutting inside the long ones: the last resort that always ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from proxy.chat.messages import Message, parts
from proxy.chat.roles import has_prefill
from proxy.compaction.arguments import has_long_arguments
from proxy.compaction.bodies import plain_text
from proxy.compaction.edits import CUT_FIELDS, cut_lengths, has_thinking
from proxy.compaction.handover import ask_text
from proxy.compaction.layout import Layout, with_edits
from proxy.compaction.media import media_count
from proxy.compaction.prune import media_edits
from proxy.records.record import Edit

EASY_CAP = 2_000
"""Media stay while bodies of this many characters leave room for them."""
SMALLEST_CAP = 120
"""Bodies are not cut below this many characters, but for the hardest fit."""
HARDEST_CAP = 60
LARGEST_CAP = 400_000

Fits = Callable[[Layout], bool]


def kept_rows(layout: Layout, rows: Sequence[Message]) -> Iterator[int]:
    """
    Yield the rows that a layout keeps and that may be shortened: all but a prefill, which goes byte for byte.
    """
    end = len(rows) - has_prefill(rows)
    yield from range(min(layout.head_end, end))
    yield from range(layout.cut, end)


def argument_edits(layout: Layout, rows: Sequence[Message], *, shown: int) -> tuple[Edit, ...]:
    """
    Return the edits that replace over-long call arguments of kept rows.
    """
    kept = kept_rows(layout, rows)
    return tuple(Edit(index, "arguments", head=shown) for index in kept if has_long_arguments(rows[index], shown=shown))


def thinking_edits(layout: Layout, rows: Sequence[Message]) -> tuple[Edit, ...]:
    """
    Return the edits that take signed reasoning out of kept rows.
    """
    return tuple(Edit(index, "thinking") for index in kept_rows(layout, rows) if has_thinking(rows[index]))


def cut_bodies(layout: Layout, rows: Sequence[Message], *, fits: Fits, smallest: int = SMALLEST_CAP) -> Layout:
    """
    Return the layout with bodies cut to the largest cap at which it *fits*.

    Where even the smallest cap is too large, the layout with that cap is returned: the caller decides what then.
    """
    if fits(layout):
        return layout
    low, high = smallest, LARGEST_CAP
    if not fits(capped(layout, rows, low)):
        return capped(layout, rows, low)
    while high - low > max(low // 20, 16):
        middle = (low + high) // 2
        if fits(capped(layout, rows, middle)):
            low = middle
        else:
            high = middle
    return capped(layout, rows, low)


def fewer_media(layout: Layout, rows: Sequence[Message], *, fits: Fits) -> Layout:
    """
    Return the layout with as many of the newest media as *fits* allows, none where it never does.
    """
    kept = list(kept_rows(layout, rows))

    def keeping(number: int) -> Layout:
        return with_edits(layout, media_edits(rows, kept, keep=number))

    low, high = 0, sum(media_count(rows[index]) for index in kept)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(keeping(middle)):
            low = middle
        else:
            high = middle - 1
    return keeping(low)


def capped(layout: Layout, rows: Sequence[Message], cap: int) -> Layout:
    """
    Return the layout with every body above *cap* characters cut to it.
    """
    head, tail = cut_lengths(cap)
    stubbed = {edit.row for edit in layout.edits if edit.kind in {"stub", "duplicate"}}
    cuts = tuple(
        Edit(index, "cut", head, tail)
        for index in kept_rows(layout, rows)
        if index not in stubbed and _longest_text(rows[index]) > cap
    )
    shortened = replace(layout, edits=(*(edit for edit in layout.edits if edit.kind != "cut"), *cuts))
    if layout.restated is not None and len(ask_text(rows[layout.restated])) > cap:
        return replace(shortened, restated_head=head, restated_tail=tail)
    return shortened


def _longest_text(row: Message) -> int:
    fields = [len(value) for field in CUT_FIELDS if isinstance(value := row.get(field), str)]
    if isinstance(row.get("content"), (list, dict)):
        fields += [len(plain_text(part)) for part in parts(row)]
    return max(fields, default=0)
