"""
A connection that stopped speaking HTTP: WebSocket frames pass as bytes, both ways.
"""

from __future__ import annotations

import asyncio

from proxy.upstream.connection import Connection
from proxy.upstream.headers import response_headers
from proxy.upstream.wire import Answer, Headers, Prefixed, header

UPGRADE: Headers = (("Connection", "Upgrade"), ("Upgrade", "websocket"))
WEBSOCKET = b"websocket"
_BUFFERED = 64 * 1024


class Feed:
    """
    Takes the bytes that follow a switch of protocols from a connection; holds the sender back when full.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self.reader = asyncio.StreamReader(limit=_BUFFERED)
        self.reader.set_transport(transport)

    def feed_data(self, data: bytes) -> None:
        """
        Take *data*.
        """
        self.reader.feed_data(data)

    def feed_eof(self, exc: BaseException | None = None) -> None:  # noqa: ARG002 - however it ended, the other side ends
        """
        Note that nothing more will come.
        """
        self.reader.feed_eof()


class Switched(Answer):
    """
    A 101 answer with the connection behind it.
    """

    __slots__ = ("_connection", "reader")

    def __init__(self, reason: str, headers: Headers, connection: Connection, feed: Feed) -> None:
        kept = (*response_headers(headers), *UPGRADE)
        super().__init__(101, reason, kept, Prefixed(()), close=connection.abort)
        self._connection = connection
        self.reader = feed.reader

    async def write(self, data: bytes) -> None:
        """
        Send *data* to the upstream, at its pace.
        """
        self._connection.transport.write(data)
        if self._connection.writing_paused:
            await self._connection.drain()


def asks_upgrade(headers: Headers) -> bool:
    """
    Tell whether a request asks to go on as WebSocket.
    """
    return (header(headers, "upgrade") or "").lower() == "websocket"
