"""
What crosses the proxy: a request that came in, one that goes out, and the answer on its way back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from http import HTTPStatus
from typing import NamedTuple

Headers = tuple[tuple[str, str], ...]
"""
Order, case and duplicates as they came; bytes that are no UTF-8 stand as surrogates.
"""

EVENT_STREAM = "text/event-stream"


class Incoming(NamedTuple):
    """
    A client's request; *target* is the raw path and query, exactly as sent.
    """

    method: str
    target: str
    headers: Headers
    body: bytes = b""

    @property
    def path(self) -> str:
        """
        The target without its query.
        """
        return self.target.partition("?")[0]


class Outgoing(NamedTuple):
    """
    A request for the upstream called *upstream*; *url* is complete, its query verbatim.
    """

    upstream: str
    method: str
    url: str
    headers: Headers
    body: bytes | AsyncIterable[bytes] = b""


class ReadyChunks(AsyncIterator[bytes]):
    """
    Chunks of which some are at hand already, so that they can leave together with the headers.
    """

    __slots__ = ()

    @abstractmethod
    def ready(self) -> bytes:
        """
        Take what is at hand, without waiting.
        """

    @property
    @abstractmethod
    def ended(self) -> bool:
        """
        Whether nothing more will come.
        """


class Answer:
    """
    What goes back to the client; its body is read once, by iterating *chunks* or by ``read``.
    """

    __slots__ = ("_close", "chunks", "headers", "reason", "status")

    def __init__(
        self,
        status: int,
        reason: str,
        headers: Headers,
        chunks: ReadyChunks,
        *,
        close: Callable[[], None] | None = None,
    ) -> None:
        self.status = status
        self.reason = reason
        self.headers = headers
        self.chunks = chunks
        self._close = close

    @classmethod
    def of_bytes(cls, status: int, headers: Headers, body: bytes) -> Answer:
        """
        Return an answer of ours; its length is stated.
        """
        sized = (*headers, ("content-length", str(len(body))))
        return cls(status, reason_of(status), sized, Prefixed((body,) if body else ()))

    @property
    def is_event_stream(self) -> bool:
        """
        Whether the body is a stream of server-sent events.
        """
        return (header(self.headers, "content-type") or "").lower().startswith(EVENT_STREAM)

    async def read(self) -> bytes:
        """
        Return the whole body, and let go of the connection.
        """
        try:
            return b"".join([chunk async for chunk in self.chunks])
        finally:
            self.close()

    def close(self) -> None:
        """
        Abort what is still running behind this answer; harmless at its end, and when called twice.
        """
        if self._close is not None:
            self._close()


class Prefixed(ReadyChunks):
    """
    Chunks read ahead, then the rest: what is left after a peek at the first events.
    """

    __slots__ = ("_first", "_rest")

    def __init__(self, first: Sequence[bytes], rest: ReadyChunks | None = None) -> None:
        self._first = list(first)
        self._rest = rest

    async def __anext__(self) -> bytes:
        if self._first:
            return self._first.pop(0)
        if self._rest is None:
            raise StopAsyncIteration
        return await anext(self._rest)

    def ready(self) -> bytes:
        """
        Take what is at hand, without waiting.
        """
        first, rest = self._first, self._rest
        taken = first[0] if len(first) == 1 else b"".join(first)
        first.clear()
        return taken if rest is None else taken + rest.ready()

    @property
    def ended(self) -> bool:
        """
        Whether nothing more will come.
        """
        return not self._first and (self._rest is None or self._rest.ended)


def header(headers: Headers, name: str) -> str | None:
    """
    Return the first value of a header, whose *name* is given in lower case.
    """
    size = len(name)
    for key, value in headers:
        if len(key) == size and key.lower() == name:
            return value
    return None


def reason_of(status: int) -> str:
    """
    Return the usual phrase of a status.
    """
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
