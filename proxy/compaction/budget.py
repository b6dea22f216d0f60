"""
How large things may be: every figure is in our own tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

CEILING = 1.5
"""The tail may exceed its budget by this factor, for group alignment, anchors and the pending round alone."""
MOST_HELD = 0.75
"""Of the room under the threshold, what rows that stay are granted; they may be larger, while they fit the window."""
LLM_MINIMUM, LLM_MAXIMUM = 2_000, 12_000
"""Bounds of a summary's size. Source: the reference design (0.20 of the middle, at least 2,000, at most 12,000)."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """
    The settings that shape a compaction.
    """

    target: float = 0.40
    tail: float = 0.20
    protect_first: int = 3
    protect_last: int = 20
    minimum_gain: float = 0.05


@dataclass(frozen=True, slots=True)
class Budget:
    """
    The budget of one request: its *window*, what of it is *usable* by the prompt, the *threshold*, and the *fixed*
    part (system rows and tools) that no compaction can shrink. *held* is what rows take that are not to be folded
    because the client sends them anew each turn.
    """

    window: int
    usable: int
    threshold: int
    fixed: int
    ratios: Ratios = Ratios()
    held: int = 0

    @property
    def room(self) -> int:
        """
        What the threshold leaves for the conversation itself.
        """
        return max(self.threshold - self.fixed - self.held, 0)

    @property
    def target(self) -> int:
        """
        The size aimed at after a compaction.
        """
        return self.fixed + self.held + int(self.ratios.target * self.room)

    @property
    def tail(self) -> int:
        """
        Where the tail walk stops; less where the fixed part leaves too little for tail and summary.
        """
        return int(min(self.threshold * self.ratios.tail, self.room * self.ratios.target * 0.6))

    @property
    def tail_ceiling(self) -> int:
        """
        What the tail may grow to.
        """
        return int(self.tail * CEILING)

    def holding(self, tokens: int) -> Self:
        """
        Return the budget beside rows of *tokens* that stay; what the tail has room for needs none of its own.
        """
        if tokens <= self.tail:
            return self
        return replace(self, held=min(tokens, int(MOST_HELD * self.room)))

    def summary(self, middle_tokens: int) -> int:
        """
        Return the size of a model's summary of a middle of *middle_tokens*.
        """
        by_window = max(self.window // 20, min(LLM_MINIMUM, self.window // 10))
        return min(max(middle_tokens // 5, LLM_MINIMUM), LLM_MAXIMUM, by_window)

    def summary_ceiling(self, kept_tokens: int) -> int:
        """
        Return what the target leaves for a summary beside head and tail (those held apart), but never less than a short one needs.
        """
        return max(self.target - self.fixed - self.held - kept_tokens, min(400, self.room // 5))
