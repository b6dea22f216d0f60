"""
A client's connection: one request after the other, and no patience for what never ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import structlog

from proxy.errors import BadRequestError
from proxy.server.body import Body, Chunked, Counted
from proxy.server.failures import NO_RETRY, answer_for, place_of, refusal
from proxy.server.flow import Flow
from proxy.server.head import CHUNKED, Head, broken, stray
from proxy.server.patience import Patience
from proxy.server.peer import probe
from proxy.server.reply import last_words
from proxy.server.request import Request
from proxy.server.settings import LimitsSettings

_LOG = structlog.get_logger()
_IDLE_SECONDS = 75.0
_LINGERING_SECONDS = 5.0
_MOST_HELD = 64 * 1024
Serve = Callable[[Request], Coroutine[Any, Any, bool]]
"""
Answers a request, and says whether its connection takes another one.
"""
Notice = Callable[["Connection"], object]
"""
Hears of a connection that was made, or lost.
"""


class Connection(asyncio.Protocol):
    """
    Feeds the bytes that arrive to whoever is to have them now: a head, a body, a tunnel, or the next request's turn.

    The request being served is a task, which is cancelled when the client leaves, be it by half a close.
    """

    def __init__(self, serve: Serve, limits: LimitsSettings, *, made: Notice, lost: Notice) -> None:
        self._serve = serve
        self._limits = limits
        self._made = made
        self._lost = lost
        self._head: Head | None = Head(limits.headers)
        self._request: Request | None = None
        self._held = b""
        self._due = False
        self._take: Callable[[bytes], None] = self._take_head
        self.task: asyncio.Task[bool] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """
        Expect a head.
        """
        self._loop = loop = asyncio.get_running_loop()
        self.flow = Flow(cast("asyncio.Transport", transport), loop, send_timeout=self._limits.send_timeout)
        probe(self.flow.transport)
        self._patience = Patience(self._loop)
        self._made(self)
        self._patience.allow(self._limits.header_timeout, self.close)

    def data_received(self, data: bytes) -> None:
        """
        Hand *data* to whoever is to have it.
        """
        self._take(data)

    def eof_received(self) -> None:
        """
        Take half a close for a whole one, and at once: what the client has not read yet would keep its request running.
        """
        if self.task is not None:
            self.task.cancel()
        self.flow.close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """
        End what still runs for this client.
        """
        self._take = self._ignore
        self._patience.stop()
        self._lost(self)
        if self.task is not None:
            self.task.cancel()
        if self._request is not None and self._request.body is not None:
            self._request.body.fail(exc if isinstance(exc, OSError) else ConnectionResetError("the client has left"))
            self._request.body.drop()  # what has come of a large one would stay until a collection finds it
        self.flow.lost()

    def pause_writing(self) -> None:
        """
        Note that the client is slower than we are.
        """
        self.flow.pause()

    def resume_writing(self) -> None:
        """
        Note that the client has caught up.
        """
        self.flow.resume()
        if self._due and not self.flow.transport.is_closing():
            self._next()

    def hand_over(self, take: Callable[[bytes], None]) -> bytes:
        """
        Give all further bytes to *take*, and return those that came already.
        """
        self._take = take
        held, self._held = self._held, b""
        self.flow.release()
        return held

    def close(self) -> None:
        """
        Take nothing more, and end the connection once all has been written.
        """
        self._take = self._ignore
        self.flow.close()

    def _take_head(self, data: bytes) -> None:
        head = self._head or Head(self._limits.headers)
        try:
            rest = head.feed(data)
        except BadRequestError as exc:
            self.flow.transport.write(last_words(answer_for(exc)))
            self._leave()
            return
        if head.complete:
            self._head = None
            self._patience.pardon()
            self._begin(Request(self, head), head.length, rest)
        elif self._head is None:
            self._head = head
            self._patience.allow(self._limits.header_timeout, self.close)

    def _begin(self, request: Request, length: int, rest: bytes) -> None:
        if length:
            request.body = self._body(length)
        self._request = request
        self._take = self._take_body if length else self._hold
        self.task = self._loop.create_task(self._serve(request))
        self.task.add_done_callback(self._served)
        if rest:
            self._take(rest)

    def _body(self, length: int) -> Body:
        if length == CHUNKED:
            return Chunked(self.flow, self._patience)
        return Counted(self.flow, self._patience, length)

    def _take_body(self, data: bytes) -> None:
        request = self._request
        assert request is not None
        assert request.body is not None
        rest = request.body.feed(data)
        if rest and stray(rest, keep_alive=request.keep_alive):
            request.body.fail(broken())
            self._give_up(request)
        elif request.body.broken:
            self._give_up(request)
        elif request.body.ended:
            self._take = self._hold
            self._held = rest
            if self.task is None:
                self._next()

    def _give_up(self, request: Request) -> None:
        """
        Take nothing more; where the request was answered early, nobody else ends the connection.
        """
        request.keep_alive = False
        self._take = self._ignore
        if self.task is None:
            self.close()

    def _hold(self, data: bytes) -> None:
        """
        Keep what belongs to the next request, and not much of it.
        """
        self._held += data
        if len(self._held) > _MOST_HELD:
            self.flow.hold()

    def _ignore(self, data: bytes) -> None:
        """
        Do nothing.
        """

    def _served(self, task: asyncio.Task[bool]) -> None:
        self.task = None
        request = self._request
        assert request is not None
        kept = self._outcome(task, request) and request.keep_alive
        if self.flow.transport.is_closing():
            return
        body = request.body
        if body is not None and not body.ended:
            # An early answer: a client cut short could lose it.
            body.drop()
            if kept:
                self._patience.allow(_LINGERING_SECONDS, self.close)
            else:
                self._leave()
        elif kept:
            self._next()
        elif self._held:
            self._leave()
        else:
            self.close()

    def _outcome(self, task: asyncio.Task[bool], request: Request) -> bool:
        """
        Notice whether the connection may go on; see to it that an answer that broke off does not look whole.
        """
        if task.cancelled():
            self.flow.break_off(reset=request.close_delimited)
            return False
        fault = task.exception()
        if fault is None:
            return task.result()
        if self.flow.transport.is_closing() and isinstance(fault, ConnectionResetError):
            # Its client left in the moment in which the answer came: that is no fault of anybody's.
            return False
        # Not its text, which may be the client's.
        _LOG.error("edge.fault", error=type(fault).__name__, where=place_of(fault))
        if request.answered:
            self.flow.break_off(reset=request.close_delimited)
        else:
            answer = refusal(500, "The proxy failed.", "proxy_error", headers=(NO_RETRY,))
            self.flow.transport.write(last_words(answer, without_body=request.method == "HEAD"))
        return False

    def _next(self) -> None:
        """
        Turn to the next request, which may have come already; one whose client does not read its answers has to wait.
        """
        self._due = self.flow.paused
        if self._due:
            return
        self._request = None
        self._take = self._take_head
        self._patience.allow(_IDLE_SECONDS, self.close)
        self.flow.release()
        held, self._held = self._held, b""
        if held:
            self._take_head(held)

    def _leave(self) -> None:
        """
        End our side, and hear the client out for a while: a close upon unread bytes could cost it the answer.
        """
        self._take = self._ignore
        self._held = b""
        self.flow.release()
        self.flow.transport.write_eof()
        self._patience.allow(_LINGERING_SECONDS, self.close)
