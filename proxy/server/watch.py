"""
What a client does not tell: that it takes nothing of what waits for it, and that it has left while nothing is read of it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable

from proxy.server.peer import has_left, not_taken, probe_soon

_LOOKS = 8
_ABSENCE_SECONDS = 0.5


class Watch(ABC):
    """
    Looks at a connection every *pause* seconds from ``begin`` to ``end``, and calls *over* once it has found something.

    One timer, set anew only when it has run out: what begins and ends often costs no more than a flag.
    """

    __slots__ = ("_loop", "_on", "_over", "_pause", "_timer", "_transport")

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        *,
        pause: float,
        over: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._pause = pause
        self._over = over
        self._on = False
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """
        Look from now on.
        """
        self._on = True
        if self._timer is None:
            self._timer = self._loop.call_later(self._pause, self._look)

    def end(self) -> None:
        """
        Look no more until the next ``begin``.
        """
        self._on = False

    def stop(self) -> None:
        """
        End for good.
        """
        self._on = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @abstractmethod
    def _found(self) -> bool:
        """
        Tell whether what is looked for is there.
        """

    def _look(self) -> None:
        self._timer = None
        if not self._on:
            return
        if self._found():
            self._on = False
            self._over()
        else:
            self._timer = self._loop.call_later(self._pause, self._look)


class Unread(Watch):
    """
    Looks for a client that takes not a byte of what waits for it for *seconds*, or up to an eighth more.

    Looks are counted, not seconds: time in which this process itself stood still is not held against the client.
    """

    __slots__ = ("_in_vain", "_left")

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        *,
        seconds: float,
        over: Callable[[], None],
    ) -> None:
        super().__init__(transport, loop, pause=seconds / _LOOKS, over=over)
        self._in_vain = 0
        self._left = -1

    def begin(self) -> None:
        """
        Look from now on; the first look only notes how much waits.
        """
        self._left = -1
        super().begin()

    def _found(self) -> bool:
        left = not_taken(self._transport)
        self._in_vain = self._in_vain + 1 if 0 <= self._left <= left else 0
        self._left = left
        return self._in_vain >= _LOOKS


class Absence(Watch):
    """
    Looks for a client that has left while it is held back, since its end stands behind what nobody reads.

    Where so much is unread that not even its end found room, the system is asked to probe for it: Linux keeps what a
    process left behind for some six minutes, then the probe is answered by a reset.
    """

    __slots__ = ("_probing",)

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, *, over: Callable[[], None]
    ) -> None:
        super().__init__(transport, loop, pause=_ABSENCE_SECONDS, over=over)
        self._probing = False

    def _found(self) -> bool:
        if not self._probing:
            self._probing = True
            probe_soon(self._transport)
        return has_left(self._transport)
