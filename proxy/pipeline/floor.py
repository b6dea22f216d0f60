"""
The least that a request can be made: what the last try before giving up aims at when nobody said how much fits.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxy.chat.groups import pending_round
from proxy.chat.json import dumps
from proxy.chat.messages import Message
from proxy.chat.roles import has_prefill
from proxy.compaction.handover import is_real_ask
from proxy.tokens.counter import TokenCounter
from proxy.windows.reserve import usable

FRAME = 320
"""Tokens of the notice that stands for the folded rows, and of what joins them."""
CUT_ROW = 160
"""Tokens of a row of the pending round, cut inside."""
FRAME_BYTES = 4_096


def least_tokens(rows: Sequence[Message], *, fixed: int, counter: TokenCounter) -> int:
    """
    Return the tokens of system, tools, the last ask, and the pending round cut inside.
    """
    ask, pending = _newest(rows)
    asked = sum(counter.message(row) for row in ask)
    return fixed + FRAME + asked + sum(min(counter.message(row), CUT_ROW) for row in pending)


def least_window(tokens: int, asked_output: int | None) -> int:
    """
    Return the smallest window whose usable part holds *tokens*.
    """
    window = tokens
    while usable(window, asked_output) < tokens:
        window += max(tokens - usable(window, asked_output), 1)
    return window


def least_bytes(rows: Sequence[Message], *, beside: int) -> int:
    """
    Return the bytes of the last ask and the pending round, and of what is *beside* the rows.
    """
    ask, pending = _newest(rows)
    return beside + FRAME_BYTES + sum(len(dumps(row)) for row in (*ask, *pending))


def _newest(rows: Sequence[Message]) -> tuple[Sequence[Message], Sequence[Message]]:
    """
    Return what stays whole (the last ask, a prefill), and the pending round.
    """
    pending = pending_round(rows)
    ask = next((row for row in reversed(rows) if is_real_ask(row)), None)
    whole = [row for row in (ask, rows[-1] if has_prefill(rows) else None) if row is not None]
    if not whole and pending is None:
        whole = list(rows[-1:])
    return whole, rows[pending.start : pending.end] if pending else []
