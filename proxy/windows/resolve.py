"""
Which context window a model has, and how we know.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from proxy.windows.table import packaged_table

DEFAULT_WINDOW = 128_000
LONGEST_REMEMBERED = 200
Source = Literal["config", "upstream", "learned", "table", "default"]


@dataclass(frozen=True, slots=True)
class Window:
    """
    A context window in the model's own tokens, and where the number comes from.
    """

    tokens: int
    source: Source


def find_window(
    model: str,
    *,
    configured: int | None = None,
    discovered: int | None = None,
    learned: int | None = None,
) -> Window:
    """
    Return the window from the best source there is.

    The first look into the packaged table takes half a second; make it in a thread.
    """
    # Names come from clients: none of a length that could fill the memory is remembered.
    find = _remembered if len(model) <= LONGEST_REMEMBERED else _found
    return find(model, configured, discovered, learned)


def _found(model: str, configured: int | None, discovered: int | None, learned: int | None) -> Window:
    stated: tuple[tuple[int | None, Source], ...] = (
        (configured, "config"),
        (discovered, "upstream"),
        (learned, "learned"),
    )
    for tokens, source in stated:
        if tokens:
            return Window(tokens, source)
    found = packaged_table().find(model)
    if found:
        return Window(found, "table")
    return Window(DEFAULT_WINDOW, "default")


_remembered = lru_cache(maxsize=1024)(_found)
