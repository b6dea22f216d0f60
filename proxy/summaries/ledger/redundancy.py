"""
Drop what is said twice: exact and near duplicates, and outputs that a newer call of the same kind replaces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from proxy.summaries.ledger.calls import Call
from proxy.summaries.ledger.units import Source, Unit, without_line_number

_CLOCK = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?Z?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?|\b\d+(?:\.\d+)?\s?m?s\b"
)
_SPACE = re.compile(r"\s+")
_DIGITS = re.compile(r"\d+")


def keep_distinct(units: Sequence[Unit], calls: Sequence[Call]) -> list[Unit]:
    """
    Return *units* without repetitions, in order; of equal ones the newest stays, of a person's words the first.

    Lines that differ in a clock time or a line number only are equal.
    """
    current = _without_outdated(units, calls)
    seen: set[str] = set()
    kept: list[Unit] = []
    for unit in [
        *(u for u in current if u.source is Source.USER),
        *(u for u in reversed(current) if u.source is not Source.USER),
    ]:
        key = _key(unit)
        if key not in seen:
            seen.add(key)
            kept.append(unit)
    places = {id(unit): place for place, unit in enumerate(current)}
    return sorted(kept, key=lambda unit: places[id(unit)])


def _without_outdated(units: Sequence[Unit], calls: Sequence[Call]) -> list[Unit]:
    """
    Drop the older results of a call made again: all of a read, of anything else the lines that came again.
    """
    newest = {call.signature: group for group, call in enumerate(calls)}
    answered = {unit.group for unit in units if unit.source is Source.TOOL}
    again = {
        group: newest[call.signature]
        for group, call in enumerate(calls)
        if newest[call.signature] != group and newest[call.signature] in answered
    }
    if not again:
        return list(units)
    targets = set(again.values())
    shapes = {(unit.group, _DIGITS.sub("0", unit.text)) for unit in units if unit.group in targets}

    def outdated(unit: Unit) -> bool:
        if unit.source is not Source.TOOL or unit.group not in again:
            return False
        return calls[unit.group].is_read or (again[unit.group], _DIGITS.sub("0", unit.text)) in shapes

    return [unit for unit in units if not outdated(unit)]


def _key(unit: Unit) -> str:
    text = unit.text
    if unit.source in {Source.TOOL, Source.PASTED} and _DIGITS.search(text):
        text = _CLOCK.sub("", without_line_number(text))
    return _SPACE.sub(" ", text).strip(" .-*>#").casefold()
