"""
The client side of the proxy: sends a request as it is, and hands the answer on as it comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from proxy.errors import UpstreamBrokenError
from proxy.upstream.body import RequestBody, ResponseBody
from proxy.upstream.connector import Connector, LastOfItsConnection
from proxy.upstream.faults import CONNECTING, FAULTS, translate
from proxy.upstream.headers import response_headers
from proxy.upstream.proxies import proxy_for
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.trust import trust
from proxy.upstream.tunnel import Switched
from proxy.upstream.wire import Answer, Headers, Outgoing

# aiohttp would add these of its own where the client sent none.
_NEVER_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_LONGEST_HEADER = 256 * 1024
_MOST_HEADERS = 512
_Line = tuple[object, ...]
"""All that decides how a connection is made."""


@dataclass(frozen=True, slots=True)
class _Connected:
    session: aiohttp.ClientSession
    connector: Connector


@dataclass(frozen=True, slots=True)
class _Pool:
    """
    The connections of a client and of those it was renewed from; *age* counts the renewals.
    """

    connected: dict[_Line, _Connected] = field(default_factory=dict)
    age: int = 0


class UpstreamClient:
    """
    Connections to all upstreams; made and closed inside the running loop.

    Nothing is decoded, followed, remembered or timed: no decompression, no redirects, no cookies, no read timeout.
    """

    def __init__(
        self,
        upstreams: Mapping[str, UpstreamSettings],
        *,
        environ: Mapping[str, str] | None = None,
        pool: _Pool | None = None,
    ) -> None:
        self._upstreams = dict(upstreams)
        self._environ = dict(environ or {})
        self._pool = pool or _Pool()
        self._lines = {name: _line(settings, self._pool.age) for name, settings in upstreams.items()}

    def renewed(self, upstreams: Mapping[str, UpstreamSettings]) -> UpstreamClient:
        """
        Return a client for other settings that goes on with the connections of this one, where those stay as they are.

        Both are closed as one.
        """
        return UpstreamClient(upstreams, environ=self._environ, pool=replace(self._pool, age=self._pool.age + 1))

    async def send(self, outgoing: Outgoing) -> Answer:
        """
        Return the upstream's answer as soon as its headers are there; cancelling or closing it ends the connection.

        Raises ``UpstreamUnreachableError``, ``UpstreamTimeoutError`` or ``UpstreamBrokenError``.
        """
        response = await self._send(outgoing)
        self._connect(outgoing.upstream).connector.heed(response.headers.get("Keep-Alive"))
        headers = _decoded(response.raw_headers)
        if response.status == 101:
            return Switched(response, headers)
        body = ResponseBody(outgoing.upstream, response)
        return Answer(response.status, response.reason or "", response_headers(headers), body, close=body.close)

    async def close(self) -> None:
        """
        Close all connections.
        """
        connected = self._pool.connected
        while connected:
            await connected.popitem()[1].session.close()

    async def _send(self, outgoing: Outgoing) -> aiohttp.ClientResponse:
        data: Any = outgoing.body or None
        body = RequestBody(data) if isinstance(data, bytes) else None
        try:
            return await self._request(outgoing, data if body is None else body)
        except CONNECTING as exc:
            raise translate(outgoing.upstream, exc) from exc
        except FAULTS as exc:
            # A kept-alive connection that the upstream had just closed: not a byte of this request left.
            if body is None or body.started:
                raise translate(outgoing.upstream, exc) from exc
        try:
            return await self._request(outgoing, RequestBody(body.value))
        except FAULTS as exc:
            raise translate(outgoing.upstream, exc) from exc

    async def _request(self, outgoing: Outgoing, data: Any) -> aiohttp.ClientResponse:
        try:
            return await self._connect(outgoing.upstream).session.request(
                outgoing.method,
                URL(outgoing.url, encoded=True),
                headers=_spelled_alike(outgoing.headers),
                data=data,
                allow_redirects=False,
            )
        except ValueError as exc:
            # Header values that cannot be written; nothing was sent.
            raise UpstreamBrokenError(outgoing.upstream, "the request cannot be sent as it is") from exc

    def _connect(self, name: str) -> _Connected:
        line = self._lines[name]
        found = self._pool.connected.get(line)
        if found is None:
            settings = self._upstreams[name]
            tls = trust(settings)
            connector = Connector(tls=tls is not None, limit=0, ssl=tls or True, ttl_dns_cache=60)
            found = self._pool.connected[line] = _Connected(self._new_session(settings, connector), connector)
        return found

    def _new_session(self, settings: UpstreamSettings, connector: Connector) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=connector,
            response_class=aiohttp.ClientResponse if connector.tls else LastOfItsConnection,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_NEVER_ADDED,
            timeout=aiohttp.ClientTimeout(total=None, connect=settings.connect_timeout),
            proxy=proxy_for(settings.base_url, self._environ),
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
            max_headers=_MOST_HEADERS,
        )


def _line(settings: UpstreamSettings, age: int) -> _Line:
    parts = urlsplit(settings.base_url)
    # A file of authorities may have been written anew.
    trusted = None if settings.ca_file is None else (settings.ca_file, age)
    return parts.scheme.lower(), parts.netloc, trusted, settings.connect_timeout


def _spelled_alike(headers: Headers) -> CIMultiDict[str]:
    # aiohttp takes "X-A" and "x-a" for one header, of which the last wins; spelled alike, both are sent.
    spelling: dict[str, str] = {}
    return CIMultiDict([(spelling.setdefault(name.lower(), name), value) for name, value in headers])


def _decoded(raw: tuple[tuple[bytes, bytes], ...]) -> Headers:
    return tuple(
        (name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")) for name, value in raw
    )
