"""
Kept-alive connections that are really alive: none that the upstream has closed, or is about to close, is used again.
"""

from __future__ import annotations

import asyncio
import re

from proxy.upstream.addresses import Addresses
from proxy.upstream.connection import Connection
from proxy.upstream.dial import dial
from proxy.upstream.faults import ForwardProxyError, unreachable
from proxy.upstream.way import Way
from proxy.upstream.wire import EVENT_STREAM, Headers, header

_PROMISE = re.compile(r"timeout\s*=\s*\"?(\d{1,9})", re.IGNORECASE)
_MARGIN_SECONDS = 1.0
_LONGEST_SECONDS = 60.0
_REST_SECONDS = 0.005
"""
Time in which a server that hangs up after its answer, and does not say so, has usually done it.
"""
PLAIN_SECONDS = 4.0
"""
Idle seconds where the server does not say: uvicorn, Node and cpp-httplib close after five.
"""
TLS_SECONDS = 15.0
"""
The same for TLS, where a new connection costs round trips and the front end waits for a minute or more.
"""


class Pool:
    """
    The connections of one way to an upstream.
    """

    def __init__(self, way: Way, addresses: Addresses) -> None:
        self.way = way
        self._addresses = addresses
        self._all: set[Connection] = set()
        self._idle: list[Connection] = []
        self._sweeping: asyncio.TimerHandle | None = None

    def take(self) -> Connection | None:
        """
        Return a kept connection that can be used: the one used last, unless that has hardly rested and another one has.
        """
        idle = self._idle
        while idle:
            connection = idle.pop()
            now = connection.loop.time()
            if idle and connection.rests_since + _REST_SECONDS > now >= idle[0].rests_since + _REST_SECONDS:
                idle.append(connection)
                connection = idle.pop(0)
            if now < connection.expires and connection.is_fit():
                return connection
            connection.abort()
        return None

    async def connect(self, upstream: str) -> Connection:
        """
        Return a new connection. Raises ``UpstreamUnreachableError`` or ``UpstreamTimeoutError``.
        """
        seconds = PLAIN_SECONDS if self.way.tls is None else TLS_SECONDS
        connection = Connection(idle_seconds=seconds, on_lost=self._all.discard)
        try:
            await dial(self.way, self._addresses, connection)
        except (OSError, ForwardProxyError, UnicodeError) as exc:
            raise unreachable(upstream, exc) from exc
        if not connection.transport.is_closing():
            self._all.add(connection)
        return connection

    def release(self, connection: Connection, headers: Headers, *, reusable: bool) -> None:
        """
        Take *connection* back from an answer with *headers*: keep it for the next request, or end it.

        A plain one ends with the event stream that it carried, where a new one costs next to nothing: small servers
        close it right after the last chunk whatever they promise (llama.cpp: a tenth of a millisecond after), and a
        request that is written in between is lost.
        """
        promise = header(headers, "keep-alive")
        if promise is not None:
            connection.idle_seconds = _idle_seconds(promise, connection.idle_seconds)
        streamed = self.way.tls is None and (header(headers, "content-type") or "").lower().startswith(EVENT_STREAM)
        if streamed or not (reusable and connection.idle_seconds):
            connection.abort()
            return
        loop = connection.loop
        connection.rests_since = now = loop.time()
        connection.expires = now + connection.idle_seconds
        self._idle.append(connection)
        if self._sweeping is None:
            self._sweeping = loop.call_later(connection.idle_seconds, self._sweep)

    async def close(self) -> None:
        """
        Close all connections, those in use too.
        """
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._idle.clear()
        for connection in tuple(self._all):
            connection.abort()
        # Their transports are gone in the next turn of the loop.
        await asyncio.sleep(0)

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        kept = [one for one in self._idle if now < one.expires and not one.transport.is_closing()]
        for connection in set(self._idle).difference(kept):
            connection.transport.close()
        self._idle = kept
        first = min((one.expires for one in kept), default=None)
        self._sweeping = None if first is None else loop.call_at(first, self._sweep)


def _idle_seconds(promise: str, otherwise: float) -> float:
    found = _PROMISE.search(promise)
    return otherwise if found is None else min(max(float(found[1]) - _MARGIN_SECONDS, 0.0), _LONGEST_SECONDS)
