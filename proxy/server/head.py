"""
The head of a request, read by llhttp without any leniency, and what makes its meaning certain.
"""

from __future__ import annotations

import httptools

from proxy.errors import BadRequestError
from proxy.server.blocks import Blocks

CHUNKED = -1
_MOST_HEADERS = 128
_ONCE = frozenset(
    {
        b"content-length",
        b"content-location",
        b"content-range",
        b"content-type",
        b"etag",
        b"host",
        b"max-forwards",
        b"server",
        b"transfer-encoding",
        b"user-agent",
    }
)
"""
Two of one of these, and two servers could read two requests.
"""
_WATCHED = _ONCE | {b"expect", b"upgrade", b"sec-websocket-key1"}
_CONNECT = "CONNECT"
_VERSIONS = ("1.1", "1.0")
_MOST_DIGITS = 19


class Head:
    """
    Reads one head, in as many pieces as it comes in. Raises ``BadRequestError``.

    *keep_alive* says whether the client would send another request, *upgrade* whether it would go on as WebSocket.
    """

    __slots__ = (
        "_blocks",
        "_limit",
        "_parser",
        "_size",
        "_told",
        "complete",
        "keep_alive",
        "method",
        "pairs",
        "target",
        "twice",
        "upgrade",
    )

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._blocks = Blocks()
        self._told: dict[bytes, bytes] = {}
        self._parser = httptools.HttpRequestParser(self)
        self.target = b""
        self.pairs: list[tuple[str, str]] = []
        self.method = ""
        self.keep_alive = False
        self.upgrade = False
        self.twice = False
        self.complete = False

    def on_url(self, url: bytes) -> None:
        """
        Take a part of the target.
        """
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """
        Take a header; llhttp has stripped what blanks stand before the value.
        """
        value = value.rstrip(b" \t")
        lower = name.lower()
        if lower in _WATCHED:
            self.twice = self.twice or (lower in _ONCE and lower in self._told)
            self._told[lower] = value
        self.pairs.append((name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")))

    def on_headers_complete(self) -> None:
        """
        Note that the head has ended; asked later, the parser would speak of the next request.
        """
        parser = self._parser
        self.complete = True
        self.method = parser.get_method().decode()
        self.keep_alive = parser.should_keep_alive() and self.method != _CONNECT
        self.upgrade = parser.should_upgrade() and self._told.get(b"upgrade", b"").lower() == b"websocket"

    def feed(self, data: bytes) -> bytes:
        """
        Take what of *data* is the head's, and return what comes behind it.
        """
        start = 0
        view = memoryview(data)
        while start < len(data) and not self.complete:
            # Never beyond a blank line: what follows is a body, or another request's.
            end = self._blocks.end(data, start)
            self._size += end - start
            if self._size > self._limit:
                raise too_large(f"larger than {self._limit} bytes")
            self._read(view[start:end])
            start = end
        rest = data[start:]
        if self.complete:
            self._check()
            if rest and self.length == 0 and stray(rest, keep_alive=self.keep_alive):
                raise broken()
        return rest

    @property
    def modern(self) -> bool:
        """
        Whether this is HTTP/1.1 and not 1.0.
        """
        return self._parser.get_http_version() == _VERSIONS[0]

    @property
    def expects(self) -> bool:
        """
        Whether the client waits to be told to send its body.
        """
        return self._told.get(b"expect", b"").lower() == b"100-continue"

    @property
    def length(self) -> int:
        """
        Bytes of the body, or ``CHUNKED``.
        """
        if self.method == _CONNECT:
            return 0
        if b"transfer-encoding" in self._told:
            return CHUNKED
        return int(self._told.get(b"content-length", b"0"))

    def _read(self, block: memoryview) -> None:
        try:
            self._parser.feed_data(block)
        except httptools.HttpParserUpgrade:
            # What follows is another protocol's only once an upstream has agreed to it.
            return
        except httptools.HttpParserError as exc:
            raise broken() from exc

    def _check(self) -> None:
        told = self._told
        modern = self.modern
        if len(self.pairs) > _MOST_HEADERS:
            raise too_large(f"more than {_MOST_HEADERS}")
        if not modern and self._parser.get_http_version() != _VERSIONS[1]:
            raise broken()
        if self.twice or b"sec-websocket-key1" in told or (modern and b"host" not in told):
            raise broken()
        coding = told.get(b"transfer-encoding")
        if coding is not None and (not modern or coding.lower() != b"chunked" or b"content-length" in told):
            raise broken()
        length = told.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > _MOST_DIGITS:
            raise broken()


def stray(rest: bytes, *, keep_alive: bool) -> bool:
    """
    Tell whether *rest* stands behind a last request: a body of no stated length, or another request, that we shall not read.
    """
    return not keep_alive and bool(rest.strip(b"\r\n"))


def broken() -> BadRequestError:
    """
    Return the refusal of what is no HTTP, or could be read in two ways.
    """
    return BadRequestError(400, "The request is no valid HTTP.", "proxy_error")


def too_large(how: str) -> BadRequestError:
    """
    Return the refusal of a head that is too large.
    """
    return BadRequestError(431, f"The headers are {how}.", "headers_too_large")
