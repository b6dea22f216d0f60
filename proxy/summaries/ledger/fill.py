"""
Fill a budget with the units that together say most: lazy greedy over a submodular gain, with a share for each kind.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

from proxy.summaries.ledger.roles import Candidate

_STEPS = 64
_STEP = [sqrt(n + 1) - sqrt(n) for n in range(_STEPS)]
_LINE_TOKENS = 2


@dataclass(frozen=True, slots=True)
class Stage:
    """
    A share of the room, and which candidates it is for; *whole* takes them in order of weight without regard to gain.
    """

    share: float
    accepts: Callable[[Candidate], bool]
    whole: bool = False


@dataclass(slots=True)
class Filling:
    """
    The state of one fill; made, used and thrown away within it.
    """

    candidates: Sequence[Candidate]
    weights: Sequence[float]
    room: float
    label_tokens: Mapping[int, int]
    successors: Mapping[int, int]
    scale: float = 1.0
    chosen: set[int] = field(default_factory=set)
    counts: dict[int, int] = field(default_factory=dict)
    opened: set[int] = field(default_factory=set)
    used: float = 0.0

    def cover(self, features: Iterable[int]) -> None:
        """
        Count *features* as said once more.
        """
        for feature in features:
            self.counts[feature] = self.counts.get(feature, 0) + 1

    def cost(self, number: int) -> float:
        """
        Return the tokens that a candidate adds, the label of its group included where that is not open yet.
        """
        candidate = self.candidates[number]
        group = candidate.unit.group
        label = self.label_tokens.get(group, 0) if group not in self.opened and candidate.unit.source != "call" else 0
        return self.scale * (candidate.tokens + label + _LINE_TOKENS)

    def gain(self, number: int) -> float:
        """
        Return what a candidate adds a token.
        """
        candidate = self.candidates[number]
        counts, weights = self.counts, self.weights
        total = 0.0
        for feature in candidate.features:
            said = counts.get(feature, 0)
            if said < _STEPS:
                total += weights[feature] * _STEP[said]
        return total * candidate.weight / self.cost(number)

    def take(self, number: int) -> None:
        """
        Choose a candidate, and whatever replaced its value later.
        """
        following: int | None = number
        while following is not None and following not in self.chosen:
            candidate = self.candidates[following]
            self.used += self.cost(following)
            self.chosen.add(following)
            if candidate.unit.source != "call":
                self.opened.add(candidate.unit.group)
            self.cover(candidate.features)
            following = self.successors.get(following)

    def run(self, stage: Stage, *, limit: float) -> None:
        """
        Choose for one stage until its share, or *limit* over all stages, is used up.
        """
        ceiling = min(self.used + stage.share * self.room, limit)
        if stage.whole:
            self._take_whole(stage, ceiling)
            return
        heap = [(-self.gain(n), n) for n, c in enumerate(self.candidates) if n not in self.chosen and stage.accepts(c)]
        heapq.heapify(heap)
        while heap:
            _, number = heapq.heappop(heap)
            if number in self.chosen or self.used + self.cost(number) > ceiling:
                continue
            gain = self.gain(number)
            if gain <= 0:
                continue
            if heap and gain < -heap[0][0] - 1e-12:
                heapq.heappush(heap, (-gain, number))
            else:
                self.take(number)

    def _take_whole(self, stage: Stage, ceiling: float) -> None:
        wanted = [n for n, c in enumerate(self.candidates) if n not in self.chosen and stage.accepts(c)]
        # The newest first where they do not all fit: a later word overrides an earlier one.
        for number in sorted(wanted, key=lambda n: (-self.candidates[n].weight, -n)):
            if number not in self.chosen and self.used + self.cost(number) <= ceiling:
                self.take(number)
