"""
One HTTP answer on the client's connection, written byte for byte as given.
"""

from __future__ import annotations

import asyncio
import socket
import struct

from aiohttp import web

from proxy.upstream.wire import Headers, header

_LAST_CHUNK = b"0\r\n\r\n"
_BODYLESS = frozenset({204, 304})
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Written(web.StreamResponse):
    """
    Tells aiohttp that the answer has been written already.
    """

    def __init__(self, *, keep_alive: bool) -> None:
        super().__init__()
        self._kept = keep_alive

    @property
    def keep_alive(self) -> bool:
        """
        Whether the connection takes another request.
        """
        return self._kept

    async def prepare(self, request: web.BaseRequest) -> None:
        """
        Do nothing.
        """

    async def write_eof(self, data: bytes = b"") -> None:
        """
        Do nothing.
        """


class Reply:
    """
    Writes head, chunks and end. aiohttp's own response would add, sort and re-encode headers.
    """

    __slots__ = ("_chunked", "_close_delimited", "_head", "_request", "keep_alive", "started", "without_body")

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self._head = b""
        self._chunked = False
        self._close_delimited = False
        self.keep_alive = request.keep_alive
        self.without_body = request.method == "HEAD"
        self.started = False

    def head(self, status: int, reason: str, headers: Headers) -> None:
        """
        Take status and headers; they leave with the first chunk, or with ``flush``.
        """
        self.started = True
        self.without_body = self.without_body or status in _BODYLESS
        self._head = _head(status, reason, headers, self._framing(headers))

    def switch(self, status: int, reason: str, headers: Headers) -> None:
        """
        Send the head after which the connection speaks another protocol.
        """
        self.started = True
        self.keep_alive = False
        self._head = _head(status, reason, headers, [])
        self.flush()

    def write(self, chunk: bytes) -> None:
        """
        Send a chunk at once.
        """
        if chunk and not self.without_body:
            self._send(self._framed(chunk))

    def flush(self) -> None:
        """
        Send the head if it still waits for a chunk.
        """
        if self._head:
            self._send(b"")

    def end(self, chunk: bytes = b"") -> Written:
        """
        Send the last chunk and what ends the body.
        """
        last = b"" if self.without_body or not chunk else self._framed(chunk)
        if self._chunked and not self.without_body:
            last += _LAST_CHUNK
        if last or self._head:
            self._send(last)
        return Written(keep_alive=self.keep_alive)

    async def drain(self) -> None:
        """
        Wait while the client is slower than we are.
        """
        await self._request.writer.drain()

    async def abort(self) -> Written:
        """
        Break the connection, so that no client takes what it got for a whole answer.
        """
        self.flush()
        transport = self._request.transport
        if transport is not None:
            await self._flushed(transport)
            if self._close_delimited:
                # Here a plain close would read as a regular end; a reset does not.
                raw = transport.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            transport.abort()
        return Written(keep_alive=False)

    async def _flushed(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(high=0)
        await self.drain()

    def _framing(self, headers: Headers) -> list[str]:
        lines = []
        modern = self._request.version >= (1, 1)
        if not self.without_body and header(headers, "content-length") is None:
            self._chunked = modern
            self._close_delimited = not modern
            self.keep_alive = self.keep_alive and modern
            lines += ["Transfer-Encoding: chunked"] if modern else []
        if not self.keep_alive:
            lines.append("Connection: close")
        elif not modern:
            lines.append("Connection: keep-alive")
        return lines

    def _framed(self, chunk: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(chunk), chunk) if self._chunked else chunk

    def _send(self, data: bytes) -> None:
        transport = self._request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client has left")
        if self._head:
            data, self._head = self._head + data, b""
            # aiohttp looks here to know whether an error of its own can still be told.
            self._request.writer.output_size = len(data)
        transport.write(data)


def _head(status: int, reason: str, headers: Headers, framing: list[str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {reason}", *[f"{name}: {value}" for name, value in headers], *framing]
    block = "\r\n".join(lines)
    breaks = len(lines) - 1
    if block.count("\r") != breaks or block.count("\n") != breaks or "\0" in block:
        # A value with a line break in it would become a header of its own.
        block = "\r\n".join(_on_one_line(line) for line in lines)
    return block.encode("utf-8", "surrogateescape") + b"\r\n\r\n"


def _on_one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ").replace("\0", " ")
