"""
A request's body on its way in: gathered whole, or handed on as it comes, at the pace of whoever reads it.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator

import httptools

from proxy.errors import BadRequestError
from proxy.server.basin import LARGE_BYTES, Basin, Filling
from proxy.server.blocks import Blocks
from proxy.server.flow import Flow
from proxy.server.patience import Patience

_MOST_UNREAD = 256 * 1024
_MOST_PIECES = 16 * 1024
_MOST_BARREN = 64 * 1024
_IN_EARNEST = 1024 * 1024
"""Bytes after which a body that states to be large is believed."""
_HEAD = b"POST / HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n"


class Body(AsyncIterator[bytes]):
    """
    Bytes between the connection, which feeds them, and one reader; *ended* when all have come, *broken* when none can.
    """

    __slots__ = (
        "_dropped",
        "_flow",
        "_limit",
        "_patience",
        "_pieces",
        "_silence",
        "_unread",
        "_waiting",
        "broken",
        "ended",
        "fault",
    )

    def __init__(self, flow: Flow, patience: Patience) -> None:
        self._flow = flow
        self._patience = patience
        self._pieces: list[bytes] = []
        self._unread = 0
        self._limit: int | None = None
        self._silence = 0.0
        self._dropped = False
        self._waiting: asyncio.Future[None] | None = None
        self.ended = False
        self.broken = False
        self.fault: Exception | None = None

    @abstractmethod
    def feed(self, data: bytes) -> bytes:
        """
        Take what of *data* is the body's, and return what comes behind it.
        """

    async def gather(self, limit: int, silence: float) -> bytes:
        """
        Return the whole body, up to *limit* bytes; give up when nothing more of it comes for *silence* seconds.

        Raises ``BadRequestError``.
        """
        if self._unread > limit:
            raise too_large(limit)
        if not self.ended and self.fault is None:
            self._limit, self._silence = limit, silence
            self._patience.allow(silence, self._silent)
            self._flow.release()
            await self._wait()
        if self.fault is not None:
            raise self.fault
        return self._taken()

    async def __anext__(self) -> bytes:
        while not self._pieces:
            if self.fault is not None:
                raise self.fault
            if self.ended:
                raise StopAsyncIteration
            await self._wait()
        piece = self._taken()
        self._flow.release()
        return piece

    def drop(self) -> None:
        """
        Take the rest only to find its end.
        """
        self._dropped = True
        self._pieces.clear()
        self._flow.release()

    def fail(self, fault: Exception) -> None:
        """
        Tell the reader that it will not get the whole.
        """
        self._patience.pardon()
        self.fault = fault
        self._wake()

    def _take(self, piece: bytes) -> None:
        if self._dropped or not piece:
            return
        self._pieces.append(piece)
        self._unread += len(piece)
        if self._limit is None:
            if self._unread >= _MOST_UNREAD:
                self._flow.hold()
            self._wake()
        elif self._unread > self._limit:
            self.drop()
            self.fail(too_large(self._limit))
        else:
            self._patience.allow(self._silence, self._silent)
            if len(self._pieces) >= _MOST_PIECES:
                # Many small ones take far more memory than their bytes.
                self._pieces = [b"".join(self._pieces)]

    def _end(self) -> None:
        self.ended = True
        self._patience.pardon()
        self._wake()

    def _taken(self) -> bytes:
        pieces = self._pieces
        self._pieces = []
        self._unread = 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _silent(self) -> None:
        self.fail(BadRequestError(408, f"Nothing more of the body came for {self._silence:g} s.", "body_timeout"))

    async def _wait(self) -> None:
        self._waiting = self._flow.loop.create_future()
        await self._waiting

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class Counted(Body):
    """
    A body whose length was stated.
    """

    __slots__ = ("_basin", "_filling", "_missing", "length")

    def __init__(self, flow: Flow, patience: Patience, length: int) -> None:
        super().__init__(flow, patience)
        self.length = length
        self._missing = length
        self._basin: Basin | None = None
        self._filling: Filling | None = None

    def feed(self, data: bytes) -> bytes:
        """
        Take what of *data* is the body's, and return what comes behind it.
        """
        missing = self._missing
        if len(data) < missing:
            self._missing = missing - len(data)
            self._take(data)
            if self._unread >= _IN_EARNEST and self._limit is not None and self.length >= LARGE_BYTES:
                self._fill_basin()
            return b""
        self._missing = 0
        self._take(data[:missing])
        self._end()
        return data[missing:]

    def drop(self) -> None:
        """
        Take the rest only to find its end.
        """
        super().drop()
        self._basin = None
        self._leave_basin()

    def _fill_basin(self) -> None:
        """
        Have the rest written to where it stays.
        """
        self._basin = Basin(self.length, self._pieces)
        self._pieces.clear()
        self._unread = 0
        self._filling = Filling(self._flow.transport, self._basin, self._filled)

    def _filled(self, size: int) -> None:
        self._missing -= size
        self._patience.allow(self._silence, self._silent)
        if not self._missing:
            owner = self._leave_basin()
            if owner is not None:
                owner.data_received(b"")  # the body has ended, which is told where the last bytes are fed

    def _leave_basin(self) -> asyncio.Protocol | None:
        filling, self._filling = self._filling, None
        if filling is None:
            return None
        filling.leave()
        return filling.owner

    def _taken(self) -> bytes:
        if self._basin is None:
            return super()._taken()
        whole, self._basin = self._basin.whole(), None
        return whole


class Chunked(Body):
    """
    A body in chunks, which a parser of its own reads behind a head of ours.
    """

    __slots__ = ("_barren", "_blocks", "_found", "_parser")

    def __init__(self, flow: Flow, patience: Patience) -> None:
        super().__init__(flow, patience)
        self._blocks = Blocks()
        self._found: list[bytes] = []
        self._barren = 0
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(_HEAD)

    def on_body(self, data: bytes) -> None:
        """
        Take a part of a chunk.
        """
        self._barren = 0
        self._found.append(data)

    def on_message_complete(self) -> None:
        """
        Note that the last chunk and its trailers have been read.
        """
        self.ended = True

    def feed(self, data: bytes) -> bytes:
        """
        Take what of *data* is the body's, and return what comes behind it.
        """
        try:
            start = self._parse(data)
        except httptools.HttpParserError:
            start = -1
        if start < 0 or self._barren > _MOST_BARREN:
            self.broken = True
            self.fail(BadRequestError(400, "The request body is no valid HTTP.", "invalid_body"))
            return b""
        found, self._found = self._found, []
        self._take(found[0] if len(found) == 1 else b"".join(found))
        if self.ended:
            self._end()
        return data[start:]

    def _parse(self, data: bytes) -> int:
        """
        Return where in *data* the body ends, or the data.
        """
        start = 0
        view = memoryview(data)
        while start < len(data) and not self.ended:
            # Never beyond a blank line: it may end the body, and what follows is another request's.
            end = self._blocks.end(data, start)
            self._barren += end - start
            self._parser.feed_data(view[start:end])
            start = end
        return start


def too_large(limit: int) -> BadRequestError:
    """
    Return the refusal of a body larger than *limit* bytes.
    """
    return BadRequestError(413, f"The request body is larger than {limit} bytes.", "request_too_large")
