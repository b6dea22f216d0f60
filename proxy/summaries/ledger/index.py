"""
The identifiers index: exact strings that no chosen line holds, most useful first.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from proxy.summaries.ledger.lexicon import Lexicon
from proxy.summaries.ledger.sizes import pieces
from proxy.summaries.ledger.units import Source, Unit

_SHORT = re.compile(r"[\d.,%:/-]{1,4}|\d+(?:\.\d+)?m?s|\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?|.{1,2}")
_LONGEST = 120
_SOURCE_WEIGHT = {
    Source.USER: 6.0,
    Source.CALL: 5.0,
    Source.ASSISTANT: 3.0,
    Source.NOTE: 3.0,
    Source.TOOL: 1.0,
    Source.PASTED: 1.0,
}
_LINE_NOISE = 0.25
_SEPARATOR_TOKENS = 1
_FIXED_COST = 2


@dataclass(frozen=True, slots=True)
class Name:
    """
    One exact string: its feature number, its size, how useful it looks a token, and where it first stands.
    """

    text: str
    feature: int
    tokens: int
    value: float
    place: int


def collect(units: Sequence[Unit], features: Sequence[Sequence[int]], lexicon: Lexicon) -> tuple[Name, ...]:
    """
    Return every name in *units*, the most useful first.
    """
    scores: dict[int, float] = {}
    places: dict[int, int] = {}
    rows: dict[int, int] = {}
    last = max((unit.row for unit in units), default=0) + 1
    for place, (unit, found) in enumerate(zip(units, features, strict=True)):
        base = _base(unit, last)
        for feature in found:
            # Each further row that names it counts; a log that repeats it does not.
            if lexicon.shown[feature] and rows.get(feature) != unit.row:
                rows[feature] = unit.row
                places.setdefault(feature, place)
                scores[feature] = scores.get(feature, 0.0) + base
    names = [_name(lexicon.shown[feature], feature, score, places[feature]) for feature, score in scores.items()]
    return tuple(sorted((name for name in names if _is_telling(name.text)), key=lambda name: (-name.value, name.place)))


def choose(names: Iterable[Name], *, present: Container[int], stale: Container[int], room: float) -> list[str]:
    """
    Return names that are neither *present* nor *stale*, within *room* tokens, in order of first appearance.
    """
    taken: list[Name] = []
    for name in names:
        cost = name.tokens + _SEPARATOR_TOKENS
        if cost <= room and name.feature not in present and name.feature not in stale:
            room -= cost
            taken.append(name)
    return [name.text for name in sorted(taken, key=lambda name: name.place)]


def _base(unit: Unit, last: int) -> float:
    base = _SOURCE_WEIGHT[unit.source] * (0.5 + unit.row / last)
    return base * (_LINE_NOISE + unit.rarity) if unit.source in {Source.TOOL, Source.PASTED} else base


def _name(text: str, feature: int, score: float, place: int) -> Name:
    tokens = pieces(text)
    return Name(text, feature, tokens, score / (_FIXED_COST + tokens), place)


def _is_telling(text: str) -> bool:
    return len(text) <= _LONGEST and _SHORT.fullmatch(text) is None
