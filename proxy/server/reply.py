"""
One HTTP answer on the client's connection, written byte for byte as given.
"""

from __future__ import annotations

from proxy.server.request import Request
from proxy.upstream.wire import Answer, Headers, header

_LAST_CHUNK = b"0\r\n\r\n"
_BODYLESS = frozenset({204, 304})
_US = ("server", "concertina")


class Reply:
    """
    Writes head, chunks and end of the answer to *request*. Raises ``ConnectionResetError`` where the client has left.
    """

    __slots__ = ("_chunked", "_head", "_request", "_transport", "flow", "keep_alive", "started", "without_body")

    def __init__(self, request: Request) -> None:
        self._request = request
        self._head = b""
        self._chunked = False
        self.flow = request.line.flow
        self._transport = self.flow.transport
        self.keep_alive = True
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

    def end(self, chunk: bytes = b"") -> bool:
        """
        Send the last chunk and what ends the body; return whether the connection takes another request.
        """
        last = b"" if self.without_body or not chunk else self._framed(chunk)
        if self._chunked and not self.without_body:
            last += _LAST_CHUNK
        if last or self._head:
            self._send(last)
        return self.keep_alive

    async def drain(self) -> None:
        """
        Wait while the client is slower than we are.
        """
        await self.flow.drain()

    async def abort(self) -> bool:
        """
        Break the connection, so that no client takes what it got for a whole answer; no other request can follow.
        """
        self.flush()
        if not self._transport.is_closing():
            self._transport.set_write_buffer_limits(high=0)
            await self.flow.drain()
        self.flow.break_off(reset=self._request.close_delimited)
        return False

    def _framing(self, headers: Headers) -> list[str]:
        request = self._request
        lines = []
        # A client that was not told to send its body may never send it.
        keep_alive = self.keep_alive and request.keep_alive and not (request.expects and request.unread)
        if not self.without_body and header(headers, "content-length") is None:
            self._chunked = request.modern
            request.close_delimited = not request.modern
            keep_alive = keep_alive and request.modern
            lines += ["Transfer-Encoding: chunked"] if request.modern else []
        if not keep_alive:
            lines.append("Connection: close")
        elif not request.modern:
            lines.append("Connection: keep-alive")
        self.keep_alive = keep_alive
        return lines

    def _framed(self, chunk: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(chunk), chunk) if self._chunked else chunk

    def _send(self, data: bytes) -> None:
        if self._transport.is_closing():
            raise ConnectionResetError("the client has left")
        if self._head:
            data, self._head = self._head + data, b""
            self._request.answered = True
        self._transport.write(data)


def last_words(answer: Answer, *, without_body: bool = False) -> bytes:
    """
    Return an answer of ours after which the connection ends, as it stands on the wire.
    """
    head = _head(answer.status, answer.reason, (*answer.headers, _US), ["Connection: close"])
    return head if without_body else head + answer.chunks.ready()


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
