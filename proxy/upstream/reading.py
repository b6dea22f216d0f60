"""
The answer to one request, read from its connection as it comes.
"""

from __future__ import annotations

import asyncio

from httptools import HttpParserError, HttpParserUpgrade

from proxy.errors import ProxyError
from proxy.upstream.connection import Connection
from proxy.upstream.faults import broken, no_http
from proxy.upstream.parsing import SWITCHING, Parsing
from proxy.upstream.pool import Pool
from proxy.upstream.tunnel import Feed
from proxy.upstream.wire import Outgoing, ReadyChunks

_MOST_QUIET = 512 * 1024
"""
Bytes of heads, informational answers, chunk extensions and trailers that may follow each other without any of a body.
"""
_MOST_UNREAD = 256 * 1024


class Reading(Parsing, ReadyChunks):
    """
    Reads an answer; first its head is waited for by ``answered``, then its body is read chunk by chunk.

    *pool* gets the connection back as soon as the answer is complete.
    """

    __slots__ = ("_connection", "_fault", "_loop", "_pool", "_upload", "_upstream", "_waiter", "tunnel")

    def __init__(self, outgoing: Outgoing, connection: Connection, pool: Pool) -> None:
        super().__init__(outgoing.method, outgoing.headers)
        self.tunnel: tuple[Connection, Feed] | None = None
        self._upstream = outgoing.upstream
        self._connection: Connection | None = connection
        self._loop = connection.loop
        self._pool = pool
        self._fault: ProxyError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._upload: asyncio.Task[None] | None = None
        connection.receiver = self

    async def answered(self) -> None:
        """
        Wait for the head. Raises ``UpstreamError``.
        """
        while not self.status:
            if self._fault is not None:
                raise self._fault
            await self._news()

    @property
    def unanswered(self) -> bool:
        """
        Whether not a byte came back.
        """
        return not (self.status or self.quiet)

    def follow(self, upload: asyncio.Task[None]) -> None:
        """
        End with *upload*, where that fails, and let it end with this.
        """
        self._upload = upload
        upload.add_done_callback(self._uploaded)

    # What the body's reader asks for.

    async def __anext__(self) -> bytes:
        while not self.chunks:
            if self.over:
                raise StopAsyncIteration
            if self._fault is not None:
                raise self._fault
            await self._news()
        return self.ready()

    def ready(self) -> bytes:
        """
        Take what is at hand, without waiting.
        """
        chunks = self.chunks
        if not chunks:
            return b""
        taken = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        chunks.clear()
        if self.unread > _MOST_UNREAD:
            self._read_on()
        self.unread = 0
        return taken

    @property
    def ended(self) -> bool:
        """
        Whether nothing more will come.
        """
        return self.over and not self.chunks

    def close(self) -> None:
        """
        Abort the connection unless the answer has come to its end.
        """
        if not self.over:
            self._fail(broken(self._upstream, None))

    # What the connection tells.

    def feed_data(self, data: bytes) -> None:
        """
        Read on.
        """
        parser = self.parser
        assert parser is not None
        self.quiet += len(data)
        try:
            parser.feed_data(data)
        except HttpParserUpgrade as switch:
            self._switch(data[switch.args[0] :])
        except HttpParserError:
            if not self.over:
                self._fail(no_http(self._upstream))
            self.reusable = False
        if self.over:
            self._end()
        elif self.status == SWITCHING and self.tunnel is None:
            self.status = 0  # switched without a word about to what
            self._fail(no_http(self._upstream))
        elif self.quiet > _MOST_QUIET:
            self._fail(no_http(self._upstream))
        elif self.unread > _MOST_UNREAD:
            self._hold_back()
        self._wake()

    def feed_eof(self, exc: BaseException | None = None) -> None:
        """
        End, cleanly only where the end of the connection is that of the body.
        """
        if exc is None and self.status and self.lasts_to_the_end():
            self.over = True
            self.reusable = False
            self._end()
            self._wake()
        else:
            self._fail(broken(self._upstream, exc))

    def _hold_back(self) -> None:
        connection = self._connection
        if connection is not None and not connection.transport.is_closing():
            connection.transport.pause_reading()

    def _read_on(self) -> None:
        connection = self._connection
        if connection is not None and not connection.transport.is_closing():
            connection.transport.resume_reading()

    def _end(self) -> None:
        connection = self._connection
        if connection is not None:
            self._detach(connection)
            self._pool.release(connection, self.headers, reusable=self.reusable and connection.sent)

    def _fail(self, fault: ProxyError) -> None:
        if self.over or self._fault is not None:
            return
        self._fault = fault
        connection = self._connection
        if connection is not None:
            self._detach(connection)
            connection.abort()
        self._wake()

    def _detach(self, connection: Connection) -> None:
        connection.receiver = None
        self._connection = self.parser = None
        if self._upload is not None and not connection.sent:
            self._upload.cancel()

    def _switch(self, rest: bytes) -> None:
        connection = self._connection
        assert connection is not None
        feed = Feed(connection.transport)
        if rest:
            feed.feed_data(rest)
        self.tunnel = connection, feed
        self._detach(connection)
        connection.receiver = feed

    def _uploaded(self, upload: asyncio.Task[None]) -> None:
        exc = None if upload.cancelled() else upload.exception()
        if exc is not None:
            self._fail(exc if isinstance(exc, ProxyError) else broken(self._upstream, exc))

    def _news(self) -> asyncio.Future[None]:
        self._waiter = waiter = self._loop.create_future()
        return waiter

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
