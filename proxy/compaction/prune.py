"""
Which old tool results become stubs, and which old media go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proxy.chat.groups import pending_round
from proxy.chat.messages import Message
from proxy.compaction.bodies import body_text
from proxy.compaction.media import media_count
from proxy.compaction.stubs import needs_stub
from proxy.records.record import Edit


def prune_frontier(rows: Sequence[Message], costs: Sequence[int], *, protect_last: int, ceiling: int) -> int:
    """
    Return the row before which results are stubbed: the newest *protect_last* rows stay whole while they fit *ceiling*.
    """
    pending = pending_round(rows)
    limit = pending.start if pending else max(len(rows) - 1, 0)
    total, start = 0, len(rows)
    while start > 0 and len(rows) - start < protect_last and total + costs[start - 1] <= ceiling:
        start -= 1
        total += costs[start]
    return min(start, limit)


def stub_edits(rows: Sequence[Message], *, start: int, frontier: int) -> tuple[Edit, ...]:
    """
    Return the edits that stub the long tool results in rows *start* to *frontier*.
    """
    return tuple(Edit(index, "stub") for index in range(start, frontier) if needs_stub(rows[index]))


def duplicate_edits(rows: Sequence[Message], *, start: int, frontier: int) -> tuple[Edit, ...]:
    """
    Return the edits that stub long tool results from *start* on of which the same stands again at or after *frontier*.

    The newest stays. The pending round is left alone.
    """
    pending = pending_round(rows)
    newest: dict[str, int] = {}
    found: list[Edit] = []
    for index in range(len(rows) - 1, start - 1, -1):
        if not needs_stub(rows[index]):
            continue
        text = body_text(rows[index])
        if text not in newest:
            newest[text] = index
        elif newest[text] >= frontier and (pending is None or index < pending.start):
            found.append(Edit(index, "duplicate", head=newest[text]))
    return tuple(reversed(found))


def prune_edits(rows: Sequence[Message], *, start: int, frontier: int) -> tuple[Edit, ...]:
    """
    Return all edits of tool results: stubs before the frontier, and what stands again later.
    """
    again = duplicate_edits(rows, start=start, frontier=frontier)
    taken = {edit.row for edit in again}
    stubs = (edit for edit in stub_edits(rows, start=start, frontier=frontier) if edit.row not in taken)
    return tuple(sorted([*again, *stubs], key=lambda edit: edit.row))


def media_edits(rows: Sequence[Message], indexes: Iterable[int], *, keep: int) -> tuple[Edit, ...]:
    """
    Return the edits that take images and other data out of the rows at *indexes*, but for the newest *keep* of them.
    """
    edits: list[Edit] = []
    for index in sorted(indexes, reverse=True):
        here = media_count(rows[index])
        stay = min(here, keep)
        keep -= stay
        if stay < here:
            edits.append(Edit(index, "media", tail=stay))
    return tuple(reversed(edits))
