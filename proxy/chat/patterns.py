"""
Patterns of an operator's own, searched in what others wrote: with a limit in time, since some never end.

The standard library holds the interpreter lock while it searches, in a thread as well, and can not be stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

import regex

T = TypeVar("T")
ONE_REQUEST = 1.0
"""Seconds that the patterns of one setting may take over all the texts of one request."""


@dataclass(slots=True)
class Patience:
    """
    How many seconds are *left*; *late* once something was not searched to its end.
    """

    left: float = ONE_REQUEST
    late: bool = False

    def bounded(self, work: Callable[[float], T], *, otherwise: T) -> T:
        """
        Return what *work* comes to in the seconds that are left, *otherwise* where they do not do.
        """
        if self.left <= 0:
            self.late = True
            return otherwise
        began = perf_counter()
        try:
            found = work(self.left)
        except TimeoutError:
            self.left, self.late = 0.0, True
            return otherwise
        self.left -= perf_counter() - began
        return found


class OwnPattern:
    """
    A pattern that gives up when its *patience* ends: it then matches nothing, and replaces nothing.
    """

    __slots__ = ("_compiled", "_patience")

    def __init__(self, pattern: str, patience: Patience, *, ignore_case: bool = False) -> None:
        self._compiled = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
        self._patience = patience

    def search(self, text: str) -> object | None:
        """
        Return what is found in *text*, ``None`` where that is nothing.
        """
        found: object | None = self._patience.bounded(
            lambda left: self._compiled.search(text, timeout=left, concurrent=True), otherwise=None
        )
        return found

    def spans(self, text: str) -> list[tuple[int, int]]:
        """
        Return where it is found in *text*.
        """
        nowhere: list[tuple[int, int]] = []
        return self._patience.bounded(
            lambda left: [found.span() for found in self._compiled.finditer(text, timeout=left, concurrent=True)],
            otherwise=nowhere,
        )

    def sub(self, replacement: str, text: str) -> str:
        """
        Return *text* with what is found replaced.
        """
        return self._patience.bounded(
            lambda left: str(self._compiled.sub(replacement, text, timeout=left, concurrent=True)), otherwise=text
        )
