"""
The identifiers index: exact strings that no chosen line holds, most useful first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from proxy.summaries.ledger.lexicon import is_identifier
from proxy.summaries.ledger.units import Source, Unit

_STRING = re.compile(
    r"https?://[^\s\"'<>)\]]{4,160}|[^\s\"'`,;(){}\[\]<>|=\\，。、；：！？（）「」『』【】《》“”‘’…·]{3,120}"
)
_EDGES = ".:!?*~-+&^"
_SHORT = re.compile(r"[\d.,%:/-]{1,4}|\d+(?:\.\d+)?m?s|\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?")
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


def index_of(
    units: Sequence[Unit], *, present: str, room: float, size: Callable[[str], float], stale: Iterable[str] = ()
) -> list[str]:
    """
    Return identifiers of *units* that *present* does not hold, in order of first appearance, within *room* tokens.
    """
    scores, first = _score(units)
    forbidden = {value.casefold() for value in stale}
    folded = present.casefold()
    wanted = [name for name in scores if name.casefold() not in forbidden and name.casefold() not in folded]
    ranked = sorted(wanted, key=lambda name: (-scores[name] / (2 + size(name)), first[name]))
    taken: list[str] = []
    for name in ranked:
        cost = size(name) + _SEPARATOR_TOKENS
        if room < cost:
            continue
        room -= cost
        taken.append(name)
    return sorted(taken, key=lambda name: first[name])


def _score(units: Sequence[Unit]) -> tuple[dict[str, float], dict[str, int]]:
    scores: dict[str, float] = {}
    first: dict[str, int] = {}
    rows: dict[str, int] = {}
    last = max((unit.row for unit in units), default=0) + 1
    for place, unit in enumerate(units):
        base = _SOURCE_WEIGHT[unit.source] * (0.5 + unit.row / last)
        if unit.source in {Source.TOOL, Source.PASTED}:
            base *= _LINE_NOISE + unit.rarity
        for raw in _STRING.findall(unit.text):
            name = raw.strip(_EDGES)
            if len(name) < 3 or not is_identifier(name) or _SHORT.fullmatch(name):
                continue
            first.setdefault(name, place)
            # Each further row that names it counts; a log that repeats it does not.
            if rows.get(name) != unit.row:
                rows[name] = unit.row
                scores[name] = scores.get(name, 0.0) + base
    return scores, first
