"""
Find statements whose value a later statement replaces, so that the old value never stands alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxy.summaries.ledger import cues
from proxy.summaries.ledger.lexicon import Lexicon
from proxy.summaries.ledger.roles import Candidate
from proxy.summaries.ledger.units import Source

_SPOKEN = frozenset({Source.USER, Source.ASSISTANT, Source.NOTE})
_OVERLAP = 0.5
_LONGEST = 40
_COMMON = 24


def successors(candidates: Sequence[Candidate], lexicon: Lexicon, weights: Sequence[float]) -> dict[int, int]:
    """
    Return, by number, which candidate replaces the value of which: both name the same thing by their words, both give
    exact values, the later one gives another and says that something changed.
    """
    by_word: dict[int, list[int]] = {}
    replaced: dict[int, int] = {}
    for number, candidate in enumerate(candidates):
        if candidate.unit.source not in _SPOKEN or len(candidate.features) > _LONGEST:
            continue
        values, words = _split(candidate, lexicon)
        if not values or not words:
            continue
        if cues.UPDATE.search(candidate.unit.text):
            for older in _related(words, by_word):
                if _replaces(candidate, candidates[older], lexicon, weights):
                    replaced[older] = number
        for word in words:
            by_word.setdefault(word, []).append(number)
    return replaced


def values_of(candidate: Candidate, lexicon: Lexicon) -> frozenset[int]:
    """
    Return the exact values that a candidate gives.
    """
    return frozenset(_split(candidate, lexicon)[0])


def _related(words: Sequence[int], by_word: dict[int, list[int]]) -> list[int]:
    found: dict[int, None] = {}
    for word in words:
        # A word that very many statements share says nothing about which of them is meant.
        for number in by_word.get(word, ())[-_COMMON:]:
            found[number] = None
    return sorted(found)


def _replaces(later: Candidate, earlier: Candidate, lexicon: Lexicon, weights: Sequence[float]) -> bool:
    new_values, new_words = _split(later, lexicon)
    old_values, old_words = _split(earlier, lexicon)
    if not set(new_values) - set(old_values) or not set(old_values) - set(new_values):
        return False
    shared = set(new_words) & set(old_words)
    smaller = min(_weight(new_words, weights), _weight(old_words, weights))
    return _weight(shared, weights) >= _OVERLAP * smaller


def _weight(words: Sequence[int] | set[int], weights: Sequence[float]) -> float:
    return sum(weights[word] for word in words)


def _split(candidate: Candidate, lexicon: Lexicon) -> tuple[list[int], list[int]]:
    values = [feature for feature in candidate.features if lexicon.is_identifier(feature)]
    words = [feature for feature in candidate.features if not lexicon.is_identifier(feature)]
    return values, words
