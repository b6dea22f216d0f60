"""
Ask upstreams for the context windows of their models: in the background, now and then, and never in anybody's way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from proxy.chat.json import loads
from proxy.errors import BadRequestError
from proxy.upstream.credentials import CREDENTIALS, with_api_key
from proxy.upstream.proxies import proxy_for
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.trust import trust
from proxy.upstream.urls import join
from proxy.upstream.wire import Headers
from proxy.windows.discovery import parse_models, parse_ollama_show, parse_props

Spawn = Callable[[Coroutine[Any, Any, None]], object]
_TIMEOUT = httpx.Timeout(10.0, connect=5.0)
_FAULTS = (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, BadRequestError)
_MOST_ENTRIES = 4096


@dataclass(frozen=True, slots=True)
class _Known:
    window: int | None
    until: float


class WindowDiscovery:
    """
    Windows that upstreams state, by upstream, model and credential, since not every key sees the same.

    *spawn* runs a coroutine in the background, *clock* gives seconds.
    """

    def __init__(
        self,
        upstreams: Mapping[str, UpstreamSettings],
        *,
        spawn: Spawn,
        clock: Callable[[], float],
        environ: Mapping[str, str] | None = None,
        ttl: float = 3600.0,
        retry: float = 300.0,
    ) -> None:
        self._upstreams = dict(upstreams)
        self._spawn = spawn
        self._clock = clock
        self._environ = dict(environ or {})
        self._ttl = ttl
        self._retry = retry
        self._known: dict[tuple[str, str, str], _Known] = {}
        self._asking: set[tuple[str, str, str]] = set()
        self._clients: dict[str, httpx.AsyncClient] = {}

    def window(self, upstream: str, model: str, headers: Headers = ()) -> int | None:
        """
        Return what is known at once, and ask in the background where it is nothing or old.

        *headers* are the client's; only their credential is used, and only for the list of models.
        """
        credential = tuple(pair for pair in headers if pair[0].lower() in CREDENTIALS)
        key = _key(upstream, model, credential)
        known = self._known.get(key)
        if self._upstreams[upstream].discover and (known is None or known.until <= self._clock()):
            self._ask_later(key, credential)
        return known.window if known else None

    async def ask(self, upstream: str, model: str, headers: Headers) -> None:
        """
        Ask now and remember the answer for every client: for a process that serves a single one.
        """
        credential = tuple(pair for pair in headers if pair[0].lower() in CREDENTIALS)
        await self._learn(_key(upstream, model, ()), credential)

    async def probe(self, upstream: str, model: str, credential: Headers = ()) -> int | None:
        """
        Ask now: ``/models``, then llama.cpp's ``/props``, then Ollama's ``/api/show``. Never raises.
        """
        listed = parse_models(await self._get(upstream, "/v1/models", credential), model)
        if listed is not None:
            return listed
        props = parse_props(await self._get(upstream, "/props"))
        if props is not None:
            return props
        return parse_ollama_show(await self._get(upstream, "/api/show", ask={"model": model}))

    async def close(self) -> None:
        """
        Close all connections.
        """
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    def _ask_later(self, key: tuple[str, str, str], credential: Headers) -> None:
        if key not in self._asking:
            self._asking.add(key)
            self._spawn(self._learn(key, credential))

    async def _learn(self, key: tuple[str, str, str], credential: Headers) -> None:
        try:
            window = await self.probe(key[0], key[1], credential)
        finally:
            self._asking.discard(key)
        before = self._known.pop(key, None)
        if window is None and before is not None:
            # A server that is down for a moment still has the window it had.
            window = before.window
        while len(self._known) >= _MOST_ENTRIES:
            self._known.pop(next(iter(self._known)))
        self._known[key] = _Known(window, self._clock() + (self._retry if window is None else self._ttl))

    async def _get(self, upstream: str, path: str, credential: Headers = (), *, ask: Any = None) -> Any:
        settings = self._upstreams[upstream]
        headers = with_api_key((*settings.headers.items(), *credential), next(iter(settings.api_keys), None))
        method = "GET" if ask is None else "POST"
        try:
            url = join(settings.base_url, path)
            response = await self._client(upstream).request(method, url, headers=list(headers), json=ask)
            return loads(response.content) if response.is_success else None
        except _FAULTS:
            return None

    def _client(self, upstream: str) -> httpx.AsyncClient:
        client = self._clients.get(upstream)
        if client is None:
            settings = self._upstreams[upstream]
            proxy = proxy_for(settings.base_url, self._environ)
            # httpx would read the environment itself, and stumble over networks in NO_PROXY.
            client = httpx.AsyncClient(
                timeout=_TIMEOUT, proxy=proxy, verify=trust(settings) or False, trust_env=False, follow_redirects=False
            )
            self._clients[upstream] = client
        return client


def _key(upstream: str, model: str, credential: Headers) -> tuple[str, str, str]:
    return upstream, model, hashlib.sha256(repr(credential).encode()).hexdigest()
