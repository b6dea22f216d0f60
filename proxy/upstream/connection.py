"""
One connection to an upstream, which carries one request after the other.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, cast

_PIECE = 64 * 1024
_LAST_PIECES = 16


class Receiver(Protocol):
    """
    Takes what an upstream says.
    """

    def feed_data(self, data: bytes) -> None:
        """
        Take bytes as they come.
        """

    def feed_eof(self, exc: BaseException | None = None) -> None:
        """
        Note that nothing more comes, and whether a fault is why; may be told twice.
        """


class Connection(asyncio.Protocol):
    """
    Hands bytes to whoever receives at the moment, and knows whether the upstream takes more.

    *on_lost* is told when it is gone.
    """

    __slots__ = (
        "_poll",
        "expires",
        "idle_seconds",
        "loop",
        "on_lost",
        "on_writable",
        "receiver",
        "rests_since",
        "sent",
        "transport",
        "writing_paused",
    )
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport

    def __init__(self, *, idle_seconds: float, on_lost: Callable[[Connection], None] | None = None) -> None:
        self.idle_seconds = idle_seconds
        self.expires = 0.0
        self.rests_since = 0.0
        self.on_lost = on_lost
        self.on_writable: Callable[[], None] | None = None
        self.receiver: Receiver | None = None
        self.sent = True
        self.writing_paused = False
        self._poll: select.poll | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """
        Take the transport.
        """
        self.loop = asyncio.get_running_loop()
        self.transport = cast("asyncio.Transport", transport)
        if hasattr(select, "poll"):  # there is none on Windows
            self._poll = select.poll()
            self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """
        Hand *data* on; bytes that nobody asked for end the connection.
        """
        if self.receiver is None:
            self.transport.abort()
        else:
            self.receiver.feed_data(data)

    def eof_received(self) -> None:
        """
        Note that the upstream says nothing more.
        """
        if self.receiver is not None:
            self.receiver.feed_eof()

    def connection_lost(self, exc: BaseException | None) -> None:
        """
        Let nobody wait for a connection that is gone.
        """
        # Behind a forward proxy it may be lost before it was made.
        if self.receiver is not None and exc is not None and self.transport.get_extra_info("ssl_object") is None:
            self._hear_the_rest()
        if self.receiver is not None:
            self.receiver.feed_eof(exc)
        self.resume_writing()
        self.on_writable = None  # what is left of a large body would stay until a collection finds it
        if self.on_lost is not None:
            self.on_lost(self)

    def pause_writing(self) -> None:
        """
        Note that the upstream is slower than we are.
        """
        self.writing_paused = True

    def resume_writing(self) -> None:
        """
        Let whoever waits write on.
        """
        self.writing_paused = False
        if self.on_writable is not None:
            self.on_writable()

    async def drain(self) -> None:
        """
        Wait while the upstream is slower than we are.
        """
        if self.writing_paused and not self.transport.is_closing():
            waiter = self.loop.create_future()
            self.on_writable = lambda: None if waiter.done() else waiter.set_result(None)
            try:
                await waiter
            finally:
                self.on_writable = None

    def is_fit(self) -> bool:
        """
        Tell whether it can carry another request: the upstream has neither closed it nor written to it.

        The loop learns of that when it gets round to reading. A request that is written before is lost, and must not
        be sent twice; so the socket itself is asked.
        """
        if self.transport.is_closing():
            return False
        return self._poll is None or not self._poll.poll(0)

    def abort(self) -> None:
        """
        End it at once.
        """
        self.transport.abort()

    def _hear_the_rest(self) -> None:
        """
        Read what came before the fault: a server that refuses a large body says so, and hangs up on who still writes.
        """
        with suppress(OSError), self.transport.get_extra_info("socket").dup() as peer:
            peer.settimeout(0)
            for _ in range(_LAST_PIECES):
                data = peer.recv(_PIECE)
                if not data or self.receiver is None:
                    return
                self.receiver.feed_data(data)
