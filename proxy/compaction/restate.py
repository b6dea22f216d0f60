"""
Restate the latest ask after the summary, where no real ask follows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from proxy.chat.messages import Message
from proxy.compaction.edits import cut_lengths
from proxy.compaction.handover import ask_text, is_real_ask
from proxy.compaction.layout import Layout

SMALLEST_ASK = 200
"""A restated ask is never cut below this many characters."""


def restating(layout: Layout, rows: Sequence[Message], costs: Sequence[int], *, room: int) -> Layout:
    """
    Return the layout with the latest ask restated, cut inside where it costs more than *room* tokens.
    """
    if any(is_real_ask(row) for row in rows[layout.cut :]):
        return layout
    ask = max((index for index in range(layout.cut) if is_real_ask(rows[index])), default=None)
    if ask is None:
        return layout
    if costs[ask] <= room:
        return replace(layout, restated=ask)
    head, tail = cut_lengths(max(len(ask_text(rows[ask])) * room // costs[ask], SMALLEST_ASK))
    return replace(layout, restated=ask, restated_head=head, restated_tail=tail)
