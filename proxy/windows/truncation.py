"""
Notice that a server silently cut the prompt: it answers, but counts far less than was sent.

Once proves nothing (usage may leave out cached tokens, an estimate may be wrong); twice, with the same count while the
prompts differ, is a wall.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LEAST_SHARE = 0.7  # of the prediction
SMALLEST_PROMPT = 1_024
_PLATEAU = 0.10
_FULL = 0.97

State = Literal["whole", "suspected", "truncated", "no_room"]


@dataclass(frozen=True, slots=True)
class Sighting:
    """
    One answered request: what we predicted, what the server counted, and what it says it had cached.
    """

    predicted: int
    counted: int
    cached: int = 0

    @property
    def cut(self) -> bool:
        """
        Whether the server saw far less than was sent, cached tokens taken into account.
        """
        seen = self.counted + self.cached
        return self.predicted >= SMALLEST_PROMPT and 0 < seen < LEAST_SHARE * self.predicted


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    What the answers say: *window* is the one to believe from now on, where they say that.
    """

    state: State
    window: int | None = None


def judge(
    now: Sighting,
    *,
    history: tuple[Sighting, ...] = (),
    window: int | None = None,
    finish_reason: str | None = None,
    completion: int | None = None,
) -> Verdict:
    """
    Judge the newest answer by the last two before it and the *window* believed so far.
    """
    if now.cut:
        return _judge_cut(now, history[-2:], window)
    full = window is not None and now.counted + now.cached >= _FULL * window
    if full and finish_reason == "length" and not completion:
        return Verdict("no_room", window)
    return Verdict("whole")


def _judge_cut(now: Sighting, history: tuple[Sighting, ...], window: int | None) -> Verdict:
    same = [s for s in history if s.cut and abs(s.counted - now.counted) <= _PLATEAU * now.counted]
    if not same:
        return Verdict("suspected")
    # Some servers keep half the window when they cut, so a larger prompt may have passed whole.
    passed = [s.counted + s.cached for s in history if not s.cut]
    believed = max([now.counted, *(s.counted for s in same), *passed])
    return Verdict("truncated", believed if window is None else min(believed, window))
