"""
A request on its way up: its head as bytes, and its body at the upstream's pace.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable

from proxy.errors import UpstreamBrokenError
from proxy.upstream.connection import Connection
from proxy.upstream.way import Way
from proxy.upstream.wire import Outgoing, header

_SMALL = 64 * 1024
_SLICE = 1024 * 1024
_LAST_CHUNK = b"0\r\n\r\n"
# Without a body, these need not say that they have none.
_USUALLY_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


def head_of(outgoing: Outgoing, way: Way) -> bytes:
    """
    Return the request line and the headers, as given and framed as the body needs it.

    Raises ``UpstreamBrokenError`` where a line break in a value would become a header of its own.
    """
    headers, url = outgoing.headers, outgoing.url
    lines = [f"{outgoing.method} {url if way.absolute else url[url.find('/', 8) :]} HTTP/1.1"]
    if header(headers, "host") is None:
        lines.append(f"Host: {way.authority}")
    lines += [f"{name}: {value}" for name, value in headers]
    if header(headers, "content-length") is None:
        lines += _framing(outgoing)
    if way.absolute and way.proxy is not None and way.proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: {way.proxy.authorization}")
    block = "\r\n".join(lines)
    breaks = len(lines) - 1
    try:
        if block.count("\r") == breaks == block.count("\n") and "\0" not in block:
            return block.encode("utf-8", "surrogateescape") + b"\r\n\r\n"
    except UnicodeEncodeError:
        pass
    raise UpstreamBrokenError(outgoing.upstream, "the request cannot be sent as it is")


def send_bytes(connection: Connection, head: bytes, body: bytes) -> None:
    """
    Write a request whose body is in memory; a large one goes on as the upstream takes it.
    """
    if len(body) <= _SMALL:
        connection.transport.write(head + body)
        return
    connection.sent = False
    connection.transport.write(head)
    _Slices(connection, body).write()


async def send_stream(connection: Connection, body: AsyncIterable[bytes], *, length: int | None) -> None:
    """
    Write a body as it comes, in chunks unless its *length* in bytes has been stated.
    """
    write = connection.transport.writelines
    left = length
    async for piece in body:
        if left is None:
            if piece:
                write((b"%x\r\n" % len(piece), piece, b"\r\n"))
        elif left > 0:
            write((piece[:left],))
            left -= len(piece)
            # An answer to the last byte may come before the source says that it was the last.
            connection.sent = left <= 0
        if connection.writing_paused and not connection.sent:
            await connection.drain()
    if left is None:
        connection.sent = True
        write((_LAST_CHUNK,))
    elif left > 0:
        raise ConnectionError("the body is shorter than stated")


def start_stream(connection: Connection, outgoing: Outgoing, head: bytes) -> asyncio.Task[None]:
    """
    Write the head at once, and return the task that writes the body.
    """
    assert not isinstance(outgoing.body, bytes)
    stated = header(outgoing.headers, "content-length")
    length = int(stated) if stated is not None and stated.isdecimal() else None
    connection.sent = length == 0
    connection.transport.write(head)
    return asyncio.ensure_future(send_stream(connection, outgoing.body, length=length))


class _Slices:
    """
    Writes a body whenever the upstream takes more.
    """

    __slots__ = ("_at", "_connection", "_view")

    def __init__(self, connection: Connection, body: bytes) -> None:
        self._connection = connection
        self._view = memoryview(body)
        self._at = 0
        connection.on_writable = self.write

    def write(self) -> None:
        """
        Write until the upstream holds us back.
        """
        connection, view = self._connection, self._view
        while not connection.writing_paused and not connection.transport.is_closing():
            start = self._at
            self._at = end = start + _SLICE
            if end >= len(view):
                connection.sent = True
                connection.on_writable = None
            connection.transport.write(view[start:end])
            if end >= len(view):
                return


def _framing(outgoing: Outgoing) -> list[str]:
    if not isinstance(outgoing.body, bytes):
        return ["Transfer-Encoding: chunked"]
    if outgoing.body or outgoing.method not in _USUALLY_WITHOUT_BODY:
        return [f"Content-Length: {len(outgoing.body)}"]
    return []
