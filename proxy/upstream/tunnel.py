"""
A connection that stopped speaking HTTP: WebSocket frames pass as bytes, both ways.
"""

from __future__ import annotations

import asyncio

import aiohttp

from proxy.upstream.headers import response_headers
from proxy.upstream.wire import Answer, Headers, Prefixed, header

UPGRADE: Headers = (("Connection", "Upgrade"), ("Upgrade", "websocket"))
_BUFFERED = 64 * 1024


class Feed:
    """
    Takes the bytes that follow a switch of protocols from an aiohttp connection; holds the sender back when full.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self.reader = asyncio.StreamReader(limit=_BUFFERED)
        self.reader.set_transport(transport)

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """
        Take *data*; says that no error was met and nothing is left over.
        """
        self.reader.feed_data(data)
        return False, b""

    def feed_eof(self) -> None:
        """
        Note that nothing more will come.
        """
        self.reader.feed_eof()


class Switched(Answer):
    """
    A 101 answer with the connection behind it.
    """

    __slots__ = ("_protocol", "_response", "_transport", "reader")

    def __init__(self, response: aiohttp.ClientResponse, headers: Headers) -> None:
        connection = response.connection
        assert connection is not None
        assert connection.protocol is not None
        assert connection.transport is not None
        kept = (*response_headers(headers), *UPGRADE)
        super().__init__(response.status, response.reason or "", kept, Prefixed(()), close=self._abort)
        # Collected, the response would close its connection.
        self._response = response
        self._protocol = connection.protocol
        self._transport = connection.transport
        feed = Feed(self._transport)
        self.reader = feed.reader
        self._protocol.set_parser(feed, response.content)

    async def write(self, data: bytes) -> None:
        """
        Send *data* to the upstream, at its pace.
        """
        self._transport.write(data)
        if self._protocol.writing_paused:
            await self._protocol._drain_helper()  # noqa: SLF001 - aiohttp's writers wait the same way

    def _abort(self) -> None:
        self._transport.abort()
        self._response.close()


def asks_upgrade(headers: Headers) -> bool:
    """
    Tell whether a request asks to go on as WebSocket.
    """
    return (header(headers, "upgrade") or "").lower() == "websocket"
