"""
A client's request as it came, and the connection that it came on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from proxy.errors import BadRequestError
from proxy.server.body import Body
from proxy.server.flow import Flow
from proxy.server.head import Head
from proxy.upstream.wire import Headers


class Line(Protocol):
    """
    What a request may ask of its connection.
    """

    flow: Flow

    def hand_over(self, take: Callable[[bytes], None]) -> bytes:
        """
        Give all further bytes to *take*, and return those that came already.
        """


class Request:
    """
    One request; *target* is the raw path and query, *body* ``None`` where there is none.

    *modern* is HTTP/1.1, *expects* says that the client waits to be told to send its body, *upgrade* that it would go on
    as WebSocket.
    """

    __slots__ = (
        "answered",
        "body",
        "close_delimited",
        "expects",
        "headers",
        "keep_alive",
        "line",
        "method",
        "modern",
        "target",
        "upgrade",
    )

    def __init__(self, line: Line, head: Head) -> None:
        self.line = line
        self.method = head.method
        self.target = head.target.decode("utf-8", "surrogateescape")
        self.headers: Headers = tuple(head.pairs)
        self.modern = head.modern
        self.expects = head.expects
        self.upgrade = head.upgrade
        self.keep_alive = head.keep_alive
        self.body: Body | None = None
        self.answered = False
        self.close_delimited = False

    @property
    def transport(self) -> asyncio.Transport:
        """
        The connection's transport.
        """
        return self.line.flow.transport

    @property
    def unread(self) -> bool:
        """
        Whether bytes of the body are still to come.
        """
        return self.body is not None and not self.body.ended

    @property
    def mistake(self) -> BadRequestError | None:
        """
        What is wrong with the body, where that has shown.
        """
        fault = self.body.fault if self.body is not None else None
        return fault if isinstance(fault, BadRequestError) else None
