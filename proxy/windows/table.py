"""
The packaged table of context windows: 1,400 models of ``genai-prices``, read only when first asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from proxy.windows.names import Words, providers, spellings, words
from proxy.windows.overrides import WINDOWS

_MAKERS = frozenset(
    {"openai", "anthropic", "google", "deepseek", "mistral", "x-ai", "moonshotai", "minimax", "cohere", "perplexity"},
)
_ALIASES = {"gemini": "google", "vertex_ai": "google", "vertex": "google", "bedrock": "aws", "mistralai": "mistral"}
_SHORTEST_BEGINNING = 2  # words; a single one would let a stranger's name match

Windows = Mapping[Words, int]


@dataclass(frozen=True, slots=True)
class WindowTable:
    """
    Windows by the words of a name: *own* ones, those of each provider, and what most providers say.
    """

    own: Windows
    common: Windows
    by_provider: Mapping[str, Windows]

    def find(self, model: str) -> int | None:
        """
        Return the window of the longest name that *model* begins with.
        """
        hosts = [self.by_provider.get(_ALIASES.get(name, name), {}) for name in providers(model)]
        for name in spellings(model):
            for table in hosts:
                if name in table:
                    return table[name]
            found = _longest(name, self.own, self.common)
            if found is not None:
                return found
        return None


@cache
def packaged_table() -> WindowTable:
    """
    Read the table; the first call takes half a second, so make it in a thread.
    """
    # Imported by name and late: it costs more than all other imports together, and only unknown windows need it.
    rows = list(_rows(import_module("genai_prices.data").providers))
    by_provider: dict[str, dict[Words, int]] = defaultdict(dict)
    votes: dict[Words, Counter[int]] = defaultdict(Counter)
    makers: dict[Words, int] = {}
    for provider, name, window in rows:
        by_provider[provider].setdefault(name, window)
        votes[name][window] += 1
        if provider in _MAKERS:
            makers.setdefault(name, window)
    common = {name: _elected(counts) for name, counts in votes.items()} | makers
    return WindowTable({words(name): window for name, window, _ in WINDOWS}, common, dict(by_provider))


def _longest(name: Words, *tables: Windows) -> int | None:
    for table in tables:
        if name in table:
            return table[name]
    for length in range(len(name) - 1, 0, -1):
        beginning = name[:length]
        for table in tables:
            if beginning in table and (length >= _SHORTEST_BEGINNING or table is tables[0]):
                return table[beginning]
    return None


def _elected(counts: Counter[int]) -> int:
    """
    Return what most providers say, the smaller of two equals.
    """
    return min(counts, key=lambda window: (-counts[window], window))


def _rows(all_providers: Iterable[Any]) -> Iterator[tuple[str, Words, int]]:
    for provider in all_providers:
        for model in provider.models:
            if not model.context_window:
                continue
            for name in {model.id, *_names(model.match)}:
                for spelling in spellings(name):
                    yield provider.id, spelling, int(model.context_window)


def _names(clause: Any) -> Iterator[str]:
    for part in getattr(clause, "or_", (clause,)):
        name = getattr(part, "equals", None) or getattr(part, "starts_with", None)
        if isinstance(name, str):
            yield name
