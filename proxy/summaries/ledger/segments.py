"""
Cut a conversation into topics: turns that share telling words belong together, also across an interruption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, pstdev

from proxy.summaries.ledger.fill import Filling, Stage
from proxy.summaries.ledger.roles import Candidate
from proxy.summaries.ledger.units import Source
from proxy.summaries.sections import Section

MOST_TOPICS = 12
_BLOCK_ROWS = 12
_REMEMBERED = 8
_LEAST, _MOST = 0.05, 0.2
_NEWEST_OVER_OLDEST = 1.5

_TOPIC_SHARE = 0.15
_MOST_FOR_TOPICS = 0.30
_TOPIC_TOKENS = 24
"""A topic has at least a line, a part of the topics' share of the room where that is more."""

Vector = dict[int, float]
"""The features that a stretch of text shares with others, by number, each with its weight."""


def topics(candidates: Sequence[Candidate], weights: Sequence[float]) -> dict[int, int]:
    """
    Return the number of the topic of each row, the topic that was last spoken of last.

    A block is an ask with its answer, or a few rows of a long one. It stays with a topic that it is alike to, the
    current or an earlier one, so that one that was interrupted is one; else it begins another.
    """
    blocks = _blocks(candidates)
    vectors = _vectors(blocks, weights)
    members = _merged(_joined(vectors), vectors)
    ordered = sorted(members, key=max)
    return {c.unit.row: topic for topic, member in enumerate(ordered) for n in member for c in blocks[n]}


def fill_topics(filling: Filling, of_row: Mapping[int, int], *, limit: float) -> None:
    """
    Give each topic that has less than its floor what is missing, the newest first.
    """
    had = dict.fromkeys(of_row.values(), 0.0)
    for number in filling.chosen:
        candidate = filling.candidates[number]
        if candidate.unit.row in of_row:
            had[of_row[candidate.unit.row]] += candidate.tokens
    floors = shares(len(had))
    limit = min(limit, filling.used + _MOST_FOR_TOPICS * filling.room)
    for topic in sorted(had, reverse=True):
        missing = max(_TOPIC_SHARE * floors[topic] * filling.room, _TOPIC_TOKENS) - had[topic]
        if missing > 0:
            filling.run(Stage(missing / filling.room, _speaks_of(topic, of_row)), limit=limit)


def shares(number: int) -> list[float]:
    """
    Return how a room is shared out among *number* topics, the newest last and with half as much again as the oldest.
    """
    steps = [1 + (_NEWEST_OVER_OLDEST - 1) * n / max(number - 1, 1) for n in range(number)]
    return [step / sum(steps) for step in steps]


def likeness(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    """
    Return the share of the smaller vector, by weight, that stands in the other too; 1 where it says nothing.
    """
    small, large = (one, other) if sum(one.values()) <= sum(other.values()) else (other, one)
    whole = sum(small.values())
    return sum(weight for feature, weight in small.items() if feature in large) / whole if whole else 1.0


def _speaks_of(topic: int, of_row: Mapping[int, int]) -> Callable[[Candidate], bool]:
    return lambda c: c.section not in {Section.GOAL, Section.FILES} and of_row.get(c.unit.row) == topic


def _blocks(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """
    Cut before each ask, before each text of the assistant but the first that follows one, and every few rows.
    """
    spoken = sorted((c for c in candidates if c.unit.row >= 0), key=lambda c: c.unit.row)
    asks, replies = (
        {c.unit.row for c in spoken if c.unit.source is source} for source in (Source.USER, Source.ASSISTANT)
    )
    blocks: list[list[Candidate]] = []
    start = last = -1
    is_answered = False
    for candidate in spoken:
        row = candidate.unit.row
        if row != last:
            if not blocks or row in asks or (row in replies and is_answered) or row >= start + _BLOCK_ROWS:
                blocks.append([])
                start, is_answered = row, False
            is_answered = is_answered or row in replies
            last = row
        blocks[-1].append(candidate)
    return blocks


def _vectors(blocks: Sequence[Sequence[Candidate]], weights: Sequence[float]) -> list[Vector]:
    """
    Return the vector of each block; what one block alone says ties it to none. Squared, so that what is rare has the say.
    """
    found = [dict.fromkeys(f for c in block for f in c.features) for block in blocks]
    counts = Counter(feature for features in found for feature in features)
    return [{f: weights[f] ** 2 for f in features if counts[f] > 1} for features in found]


def _joined(vectors: Sequence[Vector]) -> list[list[int]]:
    """
    Return the blocks of each topic, in order of first appearance.
    """
    usual = _usual(vectors)
    found: list[tuple[Vector, list[int]]] = []
    current = 0
    for number, vector in enumerate(vectors):
        near = [*found[current : current + 1], *found[-_REMEMBERED:]]
        alike = max(near, key=lambda topic: likeness(vector, topic[0]), default=None)
        if alike is None or likeness(vector, alike[0]) < usual:
            alike = ({}, [])
            found.append(alike)
        alike[0].update(vector)
        alike[1].append(number)
        current = next(place for place, topic in enumerate(found) if topic is alike)
    return [members for _, members in found]


def _usual(vectors: Sequence[Vector]) -> float:
    """
    Return the likeness below which neighbours are of two topics: a dip of half a deviation under the mean.
    """
    alike = [likeness(one, other) for one, other in pairwise(vectors)]
    return min(max(fmean(alike) - pstdev(alike) / 2, _LEAST), _MOST) if alike else _LEAST


def _merged(members: list[list[int]], vectors: Sequence[Vector]) -> list[list[int]]:
    """
    Join the smallest topic to the neighbour that it is more alike to until there are few.
    """
    summed = [{f: w for n in member for f, w in vectors[n].items()} for member in members]
    while len(members) > MOST_TOPICS:
        least = min(range(len(members)), key=lambda place: (len(summed[place]), place))
        beside = [place for place in (least - 1, least + 1) if 0 <= place < len(members)]
        into = max(beside, key=lambda place: likeness(summed[least], summed[place]))
        members[into] = sorted([*members[into], *members[least]])
        summed[into] |= summed[least]
        del members[least], summed[least]
    return members
