"""
Find what is said in the same way over and over, in one output after another: progress messages, warnings, narration.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from proxy.summaries.ledger.lexicon import STOP_WORDS
from proxy.summaries.ledger.units import Source, Unit

_LINE_CHARS = 160
_WORD = re.compile(r"[^\W\d_][^\W_]*(?:[\w./@:-]*[\w/])?|\d[\w./:-]*")
_SPACE = re.compile(r"\s+")
_EXACT = re.compile(r"[\d_/@.:-]")
_ROUTINE = frozenset({Source.TOOL, Source.PASTED, Source.ASSISTANT})
_FADING = 0.5


def fade_routine(units: Sequence[Unit]) -> list[Unit]:
    """
    Return *units* in which a line of a common pattern counts as less rare, the less the more rows have such a line.

    A pattern is what stays of a line without its content words, names and numbers. Records of JSON are told apart by
    their fields and stay as they are: many of one kind are data, not routine.
    """
    patterns = [_routine_pattern(unit) for unit in units]
    rows: dict[str, set[int]] = {}
    for unit, pattern in zip(units, patterns, strict=True):
        if pattern:
            rows.setdefault(pattern, set()).add(unit.row)
    return [
        replace(unit, rarity=unit.rarity * len(rows[pattern]) ** -_FADING)
        if pattern and len(rows[pattern]) > 1
        else unit
        for unit, pattern in zip(units, patterns, strict=True)
    ]


def pattern_of(line: str) -> str:
    """
    Return the pattern of a line: common words stay, other words become ``a``, names and numbers ``0``.
    """
    return _SPACE.sub(" ", _WORD.sub(_masked, line[:_LINE_CHARS].casefold())).strip()


def _masked(match: re.Match[str]) -> str:
    word = match[0]
    if word in STOP_WORDS:
        return word
    return "0" if _EXACT.search(word) else "a"


def _routine_pattern(unit: Unit) -> str:
    if unit.source not in _ROUTINE or unit.is_record or unit.section is not None:
        return ""
    pattern = pattern_of(unit.text)
    # A sentence of the assistant that names something exactly is no mere narration.
    return "" if unit.source is Source.ASSISTANT and "0" in pattern else pattern
