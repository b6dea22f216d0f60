"""
The client side of the proxy: sends a request as it is, and hands the answer on as it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from proxy.errors import UpstreamError
from proxy.upstream.addresses import Addresses
from proxy.upstream.connection import Connection
from proxy.upstream.faults import ForwardProxyError, unreachable
from proxy.upstream.headers import response_headers
from proxy.upstream.pool import Pool
from proxy.upstream.proxies import proxy_for
from proxy.upstream.reading import Reading
from proxy.upstream.request import head_of, send_bytes, start_stream
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.trust import state_of_trust
from proxy.upstream.tunnel import Switched
from proxy.upstream.way import way_to
from proxy.upstream.wire import Answer, Outgoing

_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
_Line = tuple[object, ...]
"""All that decides how a connection is made."""


@dataclass(frozen=True, slots=True)
class _Pools:
    """
    The connections of a client and of those it was renewed from.
    """

    by_line: dict[_Line, Pool] = field(default_factory=dict)
    addresses: Addresses = field(default_factory=Addresses)


class UpstreamClient:
    """
    Connections to all upstreams; used and closed inside the running loop.

    Nothing is decoded, followed, remembered or timed: no decompression, no redirects, no cookies, no read timeout.
    """

    def __init__(
        self,
        upstreams: Mapping[str, UpstreamSettings],
        *,
        environ: Mapping[str, str] | None = None,
        pools: _Pools | None = None,
    ) -> None:
        self._upstreams = dict(upstreams)
        self._environ = dict(environ or {})
        self._shared = pools or _Pools()
        self._pools: dict[str, Pool] = {}

    def renewed(self, upstreams: Mapping[str, UpstreamSettings]) -> UpstreamClient:
        """
        Return a client for other settings that goes on with the connections of this one, where those stay as they are.

        Both are closed as one.
        """
        return UpstreamClient(upstreams, environ=self._environ, pools=self._shared)

    def look_again(self) -> None:
        """
        Go by the files of authorities as they are now, from the next request on; connections stay where these do.
        """
        self._pools = {}  # what is just being looked at is not found again

    async def send(self, outgoing: Outgoing) -> Answer:
        """
        Return the upstream's answer as soon as its headers are there; cancelling or closing it ends the connection.

        Raises ``UpstreamUnreachableError``, ``UpstreamTimeoutError`` or ``UpstreamBrokenError``.
        """
        pool = self._pools.get(outgoing.upstream) or await self._pool(outgoing.upstream)
        head = head_of(outgoing, pool.way)
        connection = pool.take()
        if connection is not None:
            reading = _asked(connection, pool, outgoing, head)
            try:
                return await _answer(reading)
            except UpstreamError:
                # A kept-alive connection that the upstream was just closing. A POST may have been read, and is not
                # sent twice.
                if not reading.unanswered or outgoing.method not in _IDEMPOTENT or outgoing.body:
                    raise
        connection = await pool.connect(outgoing.upstream)
        return await _answer(_asked(connection, pool, outgoing, head))

    async def close(self) -> None:
        """
        Close all connections.
        """
        while self._shared.by_line:
            await self._shared.by_line.popitem()[1].close()
        self._pools.clear()

    async def _pool(self, name: str) -> Pool:
        settings, pools = self._upstreams[name], self._pools
        line = await _line(settings, self._environ)
        pool = self._shared.by_line.get(line)
        if pool is None:
            try:
                way = way_to(settings, self._environ)
            except (OSError, ValueError, ForwardProxyError) as exc:
                raise unreachable(name, exc) from exc
            pool = self._shared.by_line[line] = Pool(way, self._shared.addresses)
        pools[name] = pool
        return pool


async def _line(settings: UpstreamSettings, environ: Mapping[str, str]) -> _Line:
    parts = urlsplit(settings.base_url)
    scheme = parts.scheme.lower()
    # Nobody shows a certificate on a plain way, and looking at files would keep all other requests waiting.
    secured = scheme == "https" or proxy_for(settings.base_url, environ) is not None
    trusted = await asyncio.to_thread(state_of_trust, settings) if secured else ()
    return scheme, parts.netloc, trusted, settings.connect_timeout


def _asked(connection: Connection, pool: Pool, outgoing: Outgoing, head: bytes) -> Reading:
    """
    Write a request, or what can be written of it at once.
    """
    reading = Reading(outgoing, connection, pool)
    body = outgoing.body
    if isinstance(body, bytes):
        send_bytes(connection, head, body)
    else:
        reading.follow(start_stream(connection, outgoing, head))
    return reading


async def _answer(reading: Reading) -> Answer:
    try:
        await reading.answered()
    except BaseException:
        reading.close()
        raise
    reason = reading.reason.decode("utf-8", "surrogateescape")
    if reading.tunnel is not None:
        return Switched(reason, reading.headers, *reading.tunnel)
    return Answer(reading.status, reason, response_headers(reading.headers), reading, close=reading.close)
