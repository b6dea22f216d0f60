"""
The two bodies of one call: bytes on their way up, chunks on their way back.
"""

from __future__ import annotations

import asyncio
from typing import cast

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import StreamWriter
from aiohttp.payload import Payload

from proxy.upstream.faults import FAULTS, translate
from proxy.upstream.wire import ReadyChunks

_SLICE = 256 * 1024


class RequestBody(Payload):
    """
    A request body in memory; knows whether any of it left, since only then a second try could be a second call.
    """

    def __init__(self, value: bytes) -> None:
        super().__init__(value, content_type="application/json")
        self.value = value
        self.started = False
        self._size = len(value)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """
        Return the body as text.
        """
        return self.value.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """
        Write in slices, so that the upstream's pace holds us back.
        """
        # The headers leave with the first slice: if that raises, nothing was sent.
        view = memoryview(self.value)
        await cast("StreamWriter", writer).write(view[:_SLICE], drain=False)
        self.started = True
        await writer.drain()
        for start in range(_SLICE, len(view), _SLICE):
            await writer.write(view[start : start + _SLICE])


class ResponseBody(ReadyChunks):
    """
    An upstream's response body, chunk by chunk as it arrives.
    """

    __slots__ = ("_closed", "_content", "_response", "_upstream")

    def __init__(self, upstream: str, response: aiohttp.ClientResponse) -> None:
        self._upstream = upstream
        self._response = response
        self._content = response.content
        connection = response.connection
        protocol = connection.protocol if connection is not None else None
        self._closed = protocol.closed if protocol is not None else None
        if self._closed is not None:
            self._closed.add_done_callback(self._lost)

    async def __anext__(self) -> bytes:
        content = self._content
        try:
            chunk = await content.readany()
        except FAULTS as exc:
            # What arrived before the fault is still the client's.
            if rest := self._rest():
                return rest
            self.close()
            raise translate(self._upstream, exc) from exc
        if not chunk:
            raise StopAsyncIteration
        return chunk

    def ready(self) -> bytes:
        """
        Take what is at hand, without waiting.
        """
        return self._content.read_nowait() if self._content.exception() is None else self._rest()

    @property
    def ended(self) -> bool:
        """
        Whether nothing more will come.
        """
        return self._content.exception() is None and self._content.at_eof()

    def close(self) -> None:
        """
        Abort the connection unless the body has been read to its end.
        """
        if self._closed is not None:
            self._closed.remove_done_callback(self._lost)
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._response.close()

    def _lost(self, closed: asyncio.Future[None]) -> None:
        """
        Let no reader wait for a connection that is gone: aiohttp tells it of broken lengths, not of broken chunks.
        """
        if not closed.cancelled():
            closed.exception()  # looked at, or the loop complains
        if not self._content.is_eof() and self._content.exception() is None:
            self._content.set_exception(aiohttp.ClientPayloadError("the connection is gone"))

    def _rest(self) -> bytes:
        # The public readers raise as soon as an exception is set, although bytes are left.
        return self._content._read_nowait(-1)  # noqa: SLF001 - there is no public way
