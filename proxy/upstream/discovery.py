"""
Ask upstreams for the context windows of their models: in the background, now and then, and never in anybody's way.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from proxy.chat.json import dumps, loads
from proxy.errors import ProxyError
from proxy.upstream.client import UpstreamClient
from proxy.upstream.credentials import CREDENTIALS
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.target import UpstreamTarget
from proxy.upstream.wire import Answer, Headers, Incoming
from proxy.windows.discovery import (
    model_names,
    parse_loaded,
    parse_models,
    parse_ollama_show,
    parse_props,
    states_served,
)

Spawn = Callable[[Coroutine[Any, Any, None]], object]
Parser = Callable[[Any, str], int | None]
FIRST_WAIT = 0.2
"""Seconds that the requests of the first moments may wait for what an upstream says of its window."""
_PAGE_SECONDS = 10.0
_LARGEST_PAGE = 16 * 1024 * 1024
_LONGEST_KNOWN = 4_096
"""Characters of a credential whose digest is remembered."""
_FAULTS = (ProxyError, OSError, ValueError)
_MOST_ENTRIES = 4096
MOST_AT_ONCE = 16
"""Questions that run at once: names of models and keys come from clients, and each question is half a dozen calls."""
_ASKING = (("Accept", "application/json"), ("Accept-Encoding", "identity"), ("User-Agent", "concertina"))
_JSON = (*_ASKING, ("Content-Type", "application/json"))
_Key = tuple[str, str, str]

_LOCAL_PAGES: tuple[tuple[str, Parser], ...] = (
    ("/api/v0/models", parse_models),  # LM Studio
    ("/props", lambda data, _: parse_props(data)),  # llama.cpp
    ("/api/ps", parse_loaded),  # Ollama, once the model is loaded
)


@dataclass(frozen=True, slots=True)
class Page:
    """
    What one page of an upstream said: its HTTP *status* (``None``: no answer), the *window* on it, and the *models* it
    lists. *served* is false where the window is what the model could read, not what the server gives it.
    """

    path: str
    status: int | None = None
    window: int | None = None
    served: bool = True
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Known:
    window: int | None
    until: float
    served: bool = True


@dataclass(frozen=True, slots=True)
class _Asking:
    since: float
    over: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Times:
    """
    Seconds: an answer holds for *ttl*, a server that stated nothing is asked again after *retry*, and one that named a
    window which it may not serve after *recheck*.
    """

    ttl: float = 3600.0
    retry: float = 300.0
    recheck: float = 10.0

    def of(self, page: Page) -> float:
        """
        Return how long the window of *page* holds.
        """
        return self.ttl if page.served else self.recheck


class WindowDiscovery:
    """
    Windows that upstreams state, by upstream, model and credential, since not every key sees the same.

    *spawn* runs a coroutine in the background, *clock* gives seconds. Keys of the proxy's own, *client_keys*, go nowhere.
    """

    def __init__(
        self,
        upstreams: Mapping[str, UpstreamSettings],
        *,
        spawn: Spawn,
        clock: Callable[[], float],
        environ: Mapping[str, str] | None = None,
        client_keys: tuple[str, ...] = (),
        times: Times | None = None,
    ) -> None:
        self._targets = {
            name: UpstreamTarget(name, settings, client_keys=client_keys) for name, settings in upstreams.items()
        }
        self._spawn = spawn
        self._clock = clock
        self._environ = dict(environ or {})
        self._times = times or Times()
        self._known: dict[_Key, _Known] = {}
        self._asking: dict[_Key, _Asking] = {}
        self._client = UpstreamClient(upstreams, environ=self._environ)
        self._closed = False

    def renewed(
        self, upstreams: Mapping[str, UpstreamSettings], *, client_keys: tuple[str, ...] = ()
    ) -> WindowDiscovery:
        """
        Return a discovery for other settings that knows what this one knows of the upstreams that stay as they are.
        """
        other = WindowDiscovery(
            upstreams,
            spawn=self._spawn,
            clock=self._clock,
            environ=self._environ,
            client_keys=client_keys,
            times=self._times,
        )
        same = {name for name, target in self._targets.items() if upstreams.get(name) == target.settings}
        other._known = {key: known for key, known in self._known.items() if key[0] in same}
        # What still runs under the old settings goes by what is known.
        self._spawn(self.close())
        return other

    def look_again(self) -> None:
        """
        Go by the files of authorities as they are now.
        """
        self._client.look_again()

    async def window(self, upstream: str, model: str, headers: Headers = (), *, patience: float = 0.0) -> int | None:
        """
        Return what is known, and ask in the background where it is nothing or old.

        Where nothing is known yet it waits for the answer, until *patience* seconds after the question was sent.
        *headers* are the client's; only their credential is used, and only for the list of models.
        """
        credential = tuple(pair for pair in headers if pair[0].lower() in CREDENTIALS)
        key = _key(upstream, model, credential)
        known = self._known.get(key)
        if self._targets[upstream].settings.discover and (known is None or known.until <= self._clock()):
            asking = self._ask_later(key, credential)
            if asking is not None and (known is None or not known.served):
                await self._wait(asking, patience)
                known = self._known.get(key)
        return known.window if known else None

    async def ask(self, upstream: str, model: str, headers: Headers) -> None:
        """
        Ask now, however long it takes, and remember the answer.
        """
        credential = tuple(pair for pair in headers if pair[0].lower() in CREDENTIALS)
        self._keep(_key(upstream, model, credential), await self.probe(upstream, model, credential))

    async def probe(self, upstream: str, model: str, credential: Headers = ()) -> Page | None:
        """
        Ask now, and return the first page that states a window. Never raises.
        """
        async for page in self._pages(upstream, model, credential):
            if page.window is not None:
                return page
        return None

    async def pages(self, upstream: str, model: str, credential: Headers = ()) -> tuple[Page, ...]:
        """
        Ask now, and return what every page said; nothing where the settings forbid to ask. Never raises.
        """
        if not self._targets[upstream].settings.discover:
            return ()
        return tuple([page async for page in self._pages(upstream, model, credential)])

    async def close(self) -> None:
        """
        Close all connections, and ask nothing any more.
        """
        self._closed = True
        await self._client.close()

    async def _wait(self, asking: _Asking, patience: float) -> None:
        left = asking.since + patience - self._clock()
        if left > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(asking.over.wait(), left)

    def _ask_later(self, key: _Key, credential: Headers) -> _Asking | None:
        """
        Return the question that runs; ``None`` where too many others do, so that a later request has to ask it.
        """
        asking = self._asking.get(key)
        if asking is None and len(self._asking) < MOST_AT_ONCE:
            asking = self._asking[key] = _Asking(self._clock())
            self._spawn(self._learn(key, credential))
        return asking

    async def _learn(self, key: _Key, credential: Headers) -> None:
        try:
            self._keep(key, await self.probe(key[0], key[1], credential))
        finally:
            self._asking.pop(key).over.set()

    def _keep(self, key: _Key, page: Page | None) -> None:
        before = self._known.pop(key, None)
        while len(self._known) >= _MOST_ENTRIES:
            self._known.pop(next(iter(self._known)))
        now = self._clock()
        if page is not None:
            self._known[key] = _Known(page.window, now + self._times.of(page), page.served)
        else:
            # A server that is down for a moment still has the window it had.
            self._known[key] = _Known(before.window if before else None, now + self._times.retry)

    async def _pages(self, upstream: str, model: str, credential: Headers) -> AsyncIterator[Page]:
        """
        Yield the list of models, then what servers on one's own machine say on pages of their own.
        """
        status, data = await self._get(upstream, "/v1/models", credential)
        yield Page("/v1/models", status, parse_models(data, model), models=model_names(data))
        for path, parse in _LOCAL_PAGES:
            status, data = await self._get(upstream, path)
            yield Page(path, status, parse(data, model), models=model_names(data))
        status, data = await self._get(upstream, "/api/show", ask={"model": model})
        yield Page("/api/show", status, parse_ollama_show(data), served=states_served(data))

    async def _get(
        self, upstream: str, path: str, credential: Headers = (), *, ask: Any = None
    ) -> tuple[int | None, Any]:
        if self._closed:
            return None, None
        body = b"" if ask is None else dumps(ask)
        headers = (*credential, *_ASKING) if ask is None else _JSON
        asked = Incoming("GET" if ask is None else "POST", path, headers, body)
        try:
            async with asyncio.timeout(_PAGE_SECONDS):
                answer = await self._client.send(self._targets[upstream].outgoing(asked))
                page = await _page(answer)
            return answer.status, loads(page) if 200 <= answer.status < 300 else None
        except _FAULTS:
            return None, None


async def _page(answer: Answer) -> bytes:
    """
    Return the whole body. Raises ``ValueError`` where it is larger than any list of models.
    """
    page = bytearray()
    try:
        async for chunk in answer.chunks:
            page += chunk
            if len(page) > _LARGEST_PAGE:
                raise ValueError("too large a page")
    finally:
        answer.close()
    return bytes(page)


def _key(upstream: str, model: str, credential: Headers) -> _Key:
    # Clients choose what they present: nothing of a length that could fill the memory is remembered.
    known = sum([len(value) for _, value in credential]) <= _LONGEST_KNOWN
    return upstream, model, (_known_digest if known else _digest)(credential)


def _digest(credential: Headers) -> str:
    return hashlib.sha256(repr(credential).encode("utf-8", "replace")).hexdigest()


_known_digest = lru_cache(maxsize=1_024)(_digest)
