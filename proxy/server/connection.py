"""
A client's connection: errors of HTTP itself in OpenAI's shape, and no patience for headers that never end.
"""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from proxy.chat.errors import error_body

_LOG = structlog.get_logger()
_IDLE_SECONDS = 75.0
_LINGERING_SECONDS = 5.0
_GRACE_SECONDS = 0.2


class Connection(RequestHandler):
    """
    aiohttp's connection with a limit on the time that a request's head may take.
    """

    def __init__(self, manager: web.Server, *, header_timeout: float, **options: Any) -> None:
        super().__init__(manager, **options)
        self._header_timeout = header_timeout
        self._busy = False
        self._patience: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """
        Note that a head is complete and its request being served.
        """
        self._busy = True
        self._relax()

    def finish(self) -> None:
        """
        Note that the request is done.
        """
        self._busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """
        Expect a head.
        """
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """
        Expect the rest of a head, unless these are bytes of a body.
        """
        super().data_received(data)
        if not self._busy and self._patience is None:
            self._expect()

    def connection_lost(self, exc: BaseException | None) -> None:
        """
        Forget the head that will not come.
        """
        self._relax()
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - it may quote the request
    ) -> web.StreamResponse:
        """
        Answer broken HTTP and faults of ours; neither is logged with its text, which may be the client's.
        """
        if request.writer.output_size > 0:
            raise ConnectionResetError("an answer has begun already")
        if isinstance(exc, ConnectionResetError) and (self.transport is None or self.transport.is_closing()):
            # Its client left in the moment in which the answer came: that is no fault of anybody's.
            raise exc
        ours = status >= 500
        if ours:
            _LOG.error("edge.fault", error=type(exc).__name__, where=_place(exc))
        text = "The proxy failed." if ours else "The request is no valid HTTP."
        body = error_body(text, kind="server_error" if ours else "invalid_request_error", code="proxy_error")
        # aiohttp would name itself and its version.
        headers = {"server": "concertina", **({"x-should-retry": "false"} if ours else {})}
        response = web.Response(status=status, body=body, content_type="application/json", headers=headers)
        response.force_close()
        return response

    def _expect(self) -> None:
        self._patience = asyncio.get_running_loop().call_later(self._header_timeout, self._doubt)

    def _relax(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _doubt(self) -> None:
        # It may be we who had no time: what the client sent long ago is read in the next turns of the loop.
        self._patience = asyncio.get_running_loop().call_later(_GRACE_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._patience = None
        self.force_close()


class ConnectionFactory(web.Server):
    """
    aiohttp's low-level server: no routing table and no middleware between the parser and the handler.
    """

    def __init__(self, handler: Any, *, header_timeout: float, head_limit: int) -> None:
        super().__init__(handler, handler_cancellation=True)
        self._header_timeout = header_timeout
        self._head_limit = head_limit

    def __call__(self) -> Connection:
        """
        Make the protocol of a new connection.
        """
        return Connection(
            self,
            header_timeout=self._header_timeout,
            loop=asyncio.get_running_loop(),
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=_IDLE_SECONDS,
            lingering_time=_LINGERING_SECONDS,
            max_line_size=self._head_limit,
            max_field_size=self._head_limit,
        )


def _place(exc: BaseException | None) -> str:
    trace = exc.__traceback__ if exc is not None else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
