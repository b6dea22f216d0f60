"""
Find sentences that say nearly the same: by edit distance over words where they are short, by word counts where long.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import sqrt

from proxy.summaries.ledger.lexicon import STOP_WORDS, is_identifier
from proxy.summaries.ledger.units import Source, Unit

ALIKE = 0.8
"""From this likeness on two sentences count as one."""
_SHORT_WORDS = 12
_COMMON = 24
_KEYS = 3
_FADING = frozenset({Source.ASSISTANT, Source.NOTE})
_CHUNK = re.compile(r"[^\s\"'`,;(){}\[\]<>|，。、；：！？（）「」『』“”]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


def without_near_duplicates(units: Sequence[Unit]) -> list[Unit]:
    """
    Return *units* without sentences of the assistant that a later one says again, in nearly the same words.

    One that has a name, a number or a content word of its own stays; words of people are left alone.
    """
    by_key: dict[str, list[_Said]] = {}
    dropped: set[int] = set()
    for number in range(len(units) - 1, -1, -1):
        if units[number].source not in _FADING:
            continue
        said = _Said(units[number].text)
        keys = said.keys
        if any(said.is_in(other) for key in keys for other in by_key.get(key, ())[-_COMMON:]):
            dropped.add(number)
            continue
        for key in keys:
            by_key.setdefault(key, []).append(said)
    return [unit for number, unit in enumerate(units) if number not in dropped]


class _Said:
    """
    One sentence, read for comparing.
    """

    def __init__(self, text: str) -> None:
        chunks = [chunk.strip(".:!?").casefold() for chunk in _CHUNK.findall(text)]
        self.exact = frozenset(chunk for chunk in chunks if is_identifier(chunk))
        self.words = [word for chunk in chunks if chunk not in self.exact for word in _words(chunk)]
        self.told = {word for word in self.words if word not in STOP_WORDS and len(word) > 1}

    @property
    def keys(self) -> list[str]:
        """
        The longest words: alike sentences share one of them.
        """
        return sorted(set(self.words), key=lambda word: (-len(word), word))[:_KEYS]

    def is_in(self, other: _Said) -> bool:
        """
        Tell whether *other* says as much in nearly the same words.
        """
        if self.exact != other.exact or not self.told <= set(other.words):
            return False
        longest = max(len(self.words), len(other.words))
        if longest <= _SHORT_WORDS:
            return 1 - _distance(self.words, other.words) / max(longest, 1) >= ALIKE
        return _cosine(Counter(self.words), Counter(other.words)) >= ALIKE


def _words(chunk: str) -> list[str]:
    return _UNSPACED.findall(chunk) or [chunk] if chunk else []


def _distance(one: Sequence[str], other: Sequence[str]) -> int:
    """
    Return how many words have to be put in, taken out or exchanged.
    """
    row = list(range(len(other) + 1))
    for number, word in enumerate(one, 1):
        corner, row[0] = row[0], number
        for place, against in enumerate(other, 1):
            corner, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, corner + (word != against))
    return row[-1]


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(count * other[word] for word, count in one.items())
    size = sqrt(sum(count**2 for count in one.values()) * sum(count**2 for count in other.values()))
    return shared / size if size else 1.0
