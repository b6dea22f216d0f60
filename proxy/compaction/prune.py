"""
Which old tool results become stubs, and which old media go.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxy.chat.groups import pending_round
from proxy.chat.messages import Message, parts
from proxy.compaction.edits import is_media_part
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


def media_edits(rows: Sequence[Message], *, start: int, frontier: int) -> tuple[Edit, ...]:
    """
    Return the edits that take images and other data out of rows *start* to *frontier*.
    """
    return tuple(
        Edit(index, "media")
        for index in range(start, frontier)
        if any(is_media_part(part) for part in parts(rows[index]))
    )
