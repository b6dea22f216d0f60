"""
How long a client may keep us waiting: one timer a connection, set anew only when it has run out too early.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_GRACE_SECONDS = 0.2


class Patience:
    """
    Calls back when what was waited for has not come in the time allowed.
    """

    __slots__ = ("_doubted", "_loop", "_over", "_timer", "_timer_at", "_until")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._over: Callable[[], None] | None = None
        self._until = 0.0
        self._doubted = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def allow(self, seconds: float, over: Callable[[], None]) -> None:
        """
        Call *over* unless ``allow`` or ``pardon`` is called within *seconds*.
        """
        self._over = over
        self._doubted = False
        self._until = until = self._loop.time() + seconds
        if self._timer is None or until < self._timer_at:
            self._arm(until)

    def pardon(self) -> None:
        """
        Wait for nothing; the timer runs on, since the next wait may well outlast it.
        """
        self._over = None

    def stop(self) -> None:
        """
        Forget everything.
        """
        self._over = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._over is None:
            return
        if self._loop.time() < self._until:
            self._arm(self._until)
        elif not self._doubted:
            # It may be we who had no time: what the client sent long ago is read in the next turns of the loop.
            self._doubted = True
            self._arm(self._loop.time() + _GRACE_SECONDS)
        else:
            over, self._over = self._over, None
            over()
