"""
What was found out about the rows of a conversation, so that the next turn asks about its new rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from proxy.chat.messages import Message

T = TypeVar("T")
V = TypeVar("V")
MOST_KEYS = 16
"""Kinds of notes on one conversation; whatever is noted beyond them is found out anew."""
_Extend = Callable[[list[T], Sequence[Message]], Iterable[T]]


class RowNotes:
    """
    One list of notes for each key, a note a row; safe between threads.

    A note may depend on its own row and on those before it, never on what follows: the notes on shared rows are handed
    on to a history that goes on otherwise.
    """

    def __init__(self, rows: Sequence[Message]) -> None:
        self.rows = rows
        self._lists: dict[Hashable, list[object]] = {}
        self._firsts: dict[Hashable, tuple[int, object]] = {}

    def on(self, key: Hashable, extend: _Extend[T]) -> list[T]:
        """
        Return the notes under *key*; *extend* is given those there are and the rows that lack one, and yields the rest.
        """
        known: list[T] = self._lists.get(key, [])  # type: ignore[assignment]
        if len(known) == len(self.rows):
            return known
        whole = [*known, *extend(known, self.rows[len(known) :])]
        if key in self._lists or len(self._lists) < MOST_KEYS:
            self._lists[key] = whole  # type: ignore[assignment]
        return whole

    def there(self, key: Hashable) -> Sequence[Any]:
        """
        Return the notes under *key* that are there, those on the first rows of a history.
        """
        return self._lists.get(key, ())

    def of_first(self, rows: int, key: Hashable, make: Callable[[], V]) -> V:
        """
        Return what *make* makes of the first *rows* rows, whatever follows them; of each *key* once.
        """
        known = self._firsts.get(key)
        if known is None:
            known = self._firsts[key] = (rows, make())
            if len(self._firsts) > MOST_KEYS:
                self._firsts.pop(next(iter(self._firsts)), None)
        found: V = known[1]  # type: ignore[assignment]
        return found

    def missing(self, key: Hashable) -> int:
        """
        Return how many rows have no note under *key*.
        """
        return len(self.rows) - len(self.there(key))

    def handed_on(self, rows: Sequence[Message], *, shared: int) -> RowNotes:
        """
        Return notes on *rows*, the first *shared* of which are those that these notes are about.
        """
        notes = RowNotes(rows)
        notes._lists = {key: known[:shared] for key, known in list(self._lists.items())}
        notes._firsts = {key: known for key, known in list(self._firsts.items()) if known[0] <= shared}
        return notes
