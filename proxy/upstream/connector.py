"""
Kept-alive connections that are really alive: none that the upstream has closed, or is about to close, is used again.
"""

from __future__ import annotations

import re
import select
import weakref
from typing import Any

import aiohttp
from aiohttp.connector import Connection

_PROMISE = re.compile(r"timeout\s*=\s*\"?(\d+)", re.IGNORECASE)
_MARGIN_SECONDS = 1.0
_LONGEST_SECONDS = 60.0
PLAIN_SECONDS = 4.0
"""
Idle seconds where the server does not say: uvicorn, Node and cpp-httplib close after five.
"""
TLS_SECONDS = 15.0
"""
The same for TLS, where a new connection costs round trips and the front end waits for a minute or more.
"""


class Connector(aiohttp.TCPConnector):
    """
    aiohttp's connections to one upstream.

    aiohttp learns that a server has closed a connection when the loop gets round to reading it. A request that is
    written before that is lost, and must not be sent twice; so the socket itself is asked before it is used again.
    """

    def __init__(self, *, tls: bool, **options: Any) -> None:
        self.tls = tls
        super().__init__(keepalive_timeout=TLS_SECONDS if tls else PLAIN_SECONDS, **options)
        self._used: weakref.WeakSet[object] = weakref.WeakSet()

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Any],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp names it
    ) -> Connection:
        """
        Return a connection for *req*, a kept one only where the upstream has neither closed it nor written to it.
        """
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            if protocol not in self._used:
                self._used.add(protocol)
                return connection
            if not is_readable(connection.transport):
                return connection
            connection.close()

    def heed(self, keep_alive: str | None) -> None:
        """
        Keep idle connections a second less than a ``Keep-Alive`` header of the server promises.
        """
        promise = _PROMISE.search(keep_alive) if keep_alive else None
        if promise is not None:
            # aiohttp reads it whenever it looks for a connection; there is no public way to change it.
            self._keepalive_timeout = min(max(float(promise[1]) - _MARGIN_SECONDS, 0.0), _LONGEST_SECONDS)


class LastOfItsConnection(aiohttp.ClientResponse):
    """
    Lets a connection end with the event stream that it carries, where a new one costs next to nothing.

    Small servers close it right after the last chunk whatever they promise (llama.cpp: a tenth of a millisecond
    after), and a request that is written in between is lost.
    """

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """
        Read the head of the answer.
        """
        protocol = connection.protocol
        started = await super().start(connection)
        if protocol is not None and self.content_type == "text/event-stream":
            protocol.force_close()
            if self.closed:  # a short stream came whole with its head, and its connection is kept already
                protocol.close()
        return started


def is_readable(transport: Any) -> bool:
    """
    Tell whether an idle connection has something to read: its end, or bytes that nobody asked for.
    """
    peer = transport.get_extra_info("socket") if transport is not None else None
    if peer is None or peer.fileno() < 0:
        return True
    if not hasattr(select, "poll"):  # there is none on Windows
        return False
    poll = select.poll()
    poll.register(peer.fileno(), select.POLLIN)
    return bool(poll.poll(0))
