"""
A request is the same request, however its bytes are cut into pieces.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.errors import BadRequestError
from proxy.server.body import Body, Chunked, Counted
from proxy.server.head import CHUNKED, Head

LIMIT = 4_096
PARTS = [
    b"GET / HTTP/1.1\r\n",
    b"POST /v1/x?y HTTP/1.1\r\n",
    b"Host: p\r\n",
    b"Content-Length: 4\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: Upgrade\r\nUpgrade: h2c\r\n",
    b"X-Empty:\r\n",
    b"X: \xff \t\r\n",
    b"X: a\0b\r\n",
    b" folded\r\n",
    b"\r\n",
    b"\r",
    b"\n",
    b"4\r\n\r\n\r\n\r\n",
    b"2;ext\r\n{}\r\n",
    b"0\r\n\r\n",
    b"0\r\nT: a\r\n\r\n",
    b"zz\r\n",
    b"body",
    b"\r\n\r\nGET /next HTTP/1.1\r\nHost: p\r\n\r\n",
]
WHOLE = b"POST / HTTP/1.1\r\nHost: p\r\n"


class Anything:
    """
    A flow and a patience that nobody waits for.
    """

    def hold(self) -> None:
        pass

    def release(self) -> None:
        pass

    def allow(self, *_: object) -> None:
        pass

    def pardon(self) -> None:
        pass


def body_of(length: int) -> Body:
    idle: object = Anything()
    return Chunked(idle, idle) if length == CHUNKED else Counted(idle, idle, length)  # type: ignore[arg-type]


class Reading:
    """
    Reads requests from pieces, until one is refused or the last one has been read.
    """

    def __init__(self) -> None:
        self.read: list[object] = []
        self._head: Head | None = None
        self._body: Body | None = None
        self._closed = False

    def feed(self, data: bytes) -> None:
        while data and not self._closed:
            data = self._to_body(data) if self._body is not None else self._to_head(data)

    def _to_head(self, data: bytes) -> bytes:
        self._head = head = self._head or Head(LIMIT)
        try:
            rest = head.feed(data)
        except BadRequestError as refused:
            self.read.append(refused.status)
            self._closed = True
            return b""
        if head.complete:
            self._head = None
            self.read.append((head.method, head.target, tuple(head.pairs), head.keep_alive))
            self._body = body_of(head.length) if head.length else None
            self._closed = not head.keep_alive and not head.length
        return rest

    def _to_body(self, data: bytes) -> bytes:
        body = self._body
        assert body is not None
        rest = body.feed(data)
        if body.broken or body.ended:
            self.read.append("broken" if body.broken else body._taken())
            self._closed = self._closed or body.broken
            self._body = None
        return rest


@settings(max_examples=1_000)
@given(
    st.lists(st.sampled_from(PARTS), max_size=8).map(b"".join),
    st.booleans(),
    st.lists(st.integers(min_value=1, max_value=40), max_size=40),
)
def test_how_a_request_is_cut_makes_no_difference(parts: bytes, begun: bool, cuts: list[int]) -> None:
    """
    Nor does it to what is refused, or to where the next one begins.

    Last requests are left out: what stands behind one is refused only where it came along with it.
    """
    raw = (WHOLE if begun else b"") + parts
    single = Reading()
    for byte in raw:
        single.feed(bytes([byte]))
    cut = Reading()
    start = 0
    for size in (*cuts, len(raw)):
        cut.feed(raw[start : start + size])
        start += size

    assert cut.read == single.read
