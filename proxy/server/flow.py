"""
The pace of a connection: whoever is faster than the other side waits.
"""

from __future__ import annotations

import asyncio
import socket
import struct

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Flow:
    """
    A transport whose reading is held and released, and whose writers wait while *paused*.
    """

    __slots__ = ("_held", "_waiting", "paused", "transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.paused = False
        self._held = False
        self._waiting: asyncio.Future[None] | None = None

    def hold(self) -> None:
        """
        Read no more from the client for now.
        """
        if not self._held and not self.transport.is_closing():
            self._held = True
            self.transport.pause_reading()

    def release(self) -> None:
        """
        Read on.
        """
        if self._held and not self.transport.is_closing():
            self._held = False
            self.transport.resume_reading()

    def pause(self) -> None:
        """
        Note that the client is slower than we are.
        """
        self.paused = True

    def resume(self) -> None:
        """
        Note that the client has caught up, or is gone.
        """
        self.paused = False
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def drain(self) -> None:
        """
        Wait while *paused*; one task at a time.
        """
        while self.paused:
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting

    def break_off(self, *, reset: bool) -> None:
        """
        End the connection at once; with a *reset* where a plain end would read as the regular end of an answer.
        """
        if reset and not self.transport.is_closing():
            raw = self.transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.transport.abort()
