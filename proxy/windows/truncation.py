"""
Notice that a server silently cut the prompt: it answers, but counts far less than was sent.

Once proves nothing (usage may leave out cached tokens, an estimate may be wrong); twice, with much the same count while
the prompts differ, is a wall. A count that grows with the prompt is a wrong estimate, and none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LEAST_SHARE = 0.7  # of the prediction
SMALLEST_PROMPT = 1_024
MOST_SIGHTINGS = 6
_PLATEAU = 0.10
_DIFFERENT = 0.05  # of the prediction: prompts that differ by less say nothing
_FOLLOWS = 0.5  # share of the prompts' difference that shows in the counts where nothing is cut
_HALF = 2.2  # some servers keep half the window when they cut, so a prompt this much larger may have passed whole
_FULL = 0.97
_UNCOUNTED_BYTES = 7  # a token of the prompt; ordinary text has fewer
HANDFUL = 16
"""Fewer output tokens than these, and not by wish, are no answer."""

State = Literal["whole", "suspected", "truncated", "no_room"]


@dataclass(frozen=True, slots=True)
class Sighting:
    """
    One answered request: what we predicted, what the server counted, and what it says it had cached.
    """

    predicted: int
    counted: int
    cached: int = 0
    filled: int | None = None
    """Prompt and answer together, where the answer broke off for its length after a handful of tokens unasked for."""

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


def judge(now: Sighting, *, history: tuple[Sighting, ...] = (), window: int | None = None) -> Verdict:
    """
    Judge the newest answer by the last ones before it and the *window* believed so far.
    """
    if now.cut:
        return _judge_cut(now, history[-MOST_SIGHTINGS:], window)
    return _judge_full(now, history[-MOST_SIGHTINGS:], window)


def filled_by(*, prompt: int, completion: int | None, finish_reason: str | None, asked: int | None) -> int | None:
    """
    Return prompt and answer together where the answer broke off at once and nobody had asked for so little.
    """
    answered = completion or 0
    by_wish = asked is not None and answered >= asked
    return prompt + answered if finish_reason == "length" and answered <= HANDFUL and not by_wish else None


def _judge_full(now: Sighting, history: tuple[Sighting, ...], window: int | None) -> Verdict:
    """
    The same sum twice of different prompts is a window, and so is a sum that is near the believed one.
    """
    if now.filled is None:
        return Verdict("whole")
    if window is not None and now.filled >= _FULL * window:
        return Verdict("no_room", min(now.filled, window))
    again = any(s.filled == now.filled and s.counted != now.counted for s in history)
    return Verdict("no_room", now.filled) if again and now.filled >= SMALLEST_PROMPT else Verdict("whole")


def worth_counting(*, body_bytes: int, counted: int) -> bool:
    """
    Tell whether an answer counted so few tokens for its request that the request should be counted after all.
    """
    return counted > 0 and body_bytes >= _UNCOUNTED_BYTES * max(counted, SMALLEST_PROMPT)


def _judge_cut(now: Sighting, history: tuple[Sighting, ...], window: int | None) -> Verdict:
    same = [s for s in history if s.cut and _is_wall(now, s)]
    if not same:
        return Verdict("suspected")
    wall = max(now.counted, *(s.counted for s in same))
    whole = [s.counted + s.cached for s in history if not s.cut]
    believed = max([wall, *(passed for passed in whole if passed <= _HALF * wall)])
    return Verdict("truncated", believed if window is None else min(believed, window))


def _is_wall(now: Sighting, before: Sighting) -> bool:
    """
    Tell whether two different prompts counted the same.
    """
    differ = abs(now.predicted - before.predicted) / max(now.predicted, before.predicted)
    apart = abs(now.counted - before.counted) / max(now.counted, before.counted)
    return differ >= _DIFFERENT and apart <= min(_PLATEAU, _FOLLOWS * differ)
