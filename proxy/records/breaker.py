"""
When to ask a failing store again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from proxy.errors import StoreError
from proxy.records.store import Clock

T = TypeVar("T")
SLOW = "slow"
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0


class Breaker:
    """
    Remembers why one side of a store fails and doubles the pause with each further failure.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._ask_again = 0.0
        self.cause = ""

    @property
    def is_open(self) -> bool:
        """
        Tell whether the pause is still running, so that nobody should ask.
        """
        return self._failures > 0 and self._clock() < self._ask_again

    def trip(self, cause: str) -> None:
        """
        Note a failure and begin a pause.
        """
        self.cause = cause
        self._failures += 1
        self.postpone()

    def postpone(self) -> None:
        """
        Begin the pause anew without noting a failure.
        """
        pause = FIRST_PAUSE_SECONDS * 2.0 ** min(max(self._failures - 1, 0), 16)
        self._ask_again = self._clock() + min(pause, LONGEST_PAUSE_SECONDS)

    def reset(self) -> None:
        """
        Note that all is well.
        """
        self.cause = ""
        self._failures = 0


async def within(seconds: float, answer: Awaitable[T]) -> T:
    """
    Await *answer* for so long. Raises ``StoreError`` when it takes longer.
    """
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError as exc:
        raise StoreError("guarded", SLOW) from exc
