"""
The pace of a connection: whoever is faster than the other side waits.
"""

from __future__ import annotations

import asyncio
import socket
import struct

import structlog

from proxy.server.peer import not_taken
from proxy.server.watch import Absence, Unread

_LOG = structlog.get_logger()
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Flow:
    """
    A transport whose reading is held and released, and whose writers wait while *paused*.

    It is reset when the client takes nothing for *send_timeout* seconds while paused or closing, and when the client
    leaves while its reading is held.
    """

    __slots__ = ("_absence", "_held", "_send_timeout", "_unread", "_waiting", "loop", "paused", "transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, *, send_timeout: float) -> None:
        self.transport = transport
        self.loop = loop
        self.paused = False
        self._held = False
        self._waiting: asyncio.Future[None] | None = None
        self._send_timeout = send_timeout
        self._unread = Unread(transport, loop, seconds=send_timeout, over=self._give_up)
        self._absence = Absence(transport, loop, over=self._reset)

    def hold(self) -> None:
        """
        Read no more from the client for now.
        """
        if not self._held and not self.transport.is_closing():
            self._held = True
            self.transport.pause_reading()
            self._absence.begin()

    def release(self) -> None:
        """
        Read on.
        """
        if self._held and not self.transport.is_closing():
            self._held = False
            self._absence.end()
            self.transport.resume_reading()

    def pause(self) -> None:
        """
        Note that the client is slower than we are.
        """
        self.paused = True
        self._unread.begin()

    def resume(self) -> None:
        """
        Note that the client has caught up.
        """
        if self.transport.is_closing():
            # What is left has to go as well.
            self._unread.begin()
        else:
            self._unread.end()
        self._go_on()

    def close(self) -> None:
        """
        Take nothing more, and end the connection once all has been written.
        """
        self.transport.close()
        self._absence.end()
        if self.transport.get_write_buffer_size():
            self._unread.begin()

    def lost(self) -> None:
        """
        Note that the client is gone.
        """
        self._unread.stop()
        self._absence.stop()
        self._go_on()

    def _go_on(self) -> None:
        self.paused = False
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def drain(self) -> None:
        """
        Wait while *paused*; one task at a time.
        """
        while self.paused:
            self._waiting = self.loop.create_future()
            await self._waiting

    def break_off(self, *, reset: bool) -> None:
        """
        End the connection at once; with a *reset* where a plain end would read as the regular end of an answer.
        """
        if reset and not self.transport.is_closing():
            self._reset()
        else:
            self.transport.abort()

    def _give_up(self) -> None:
        waiting = not_taken(self.transport)
        _LOG.warning("client.stalled", seconds=self._send_timeout, waiting=waiting)
        self._reset()

    def _reset(self) -> None:
        raw = self.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.transport.abort()
