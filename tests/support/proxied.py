"""
The real proxy on a free port, in front of the simulator.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any

import aiohttp
import pytest

from proxy.chat.json import dumps
from proxy.config.settings import AppSettings
from proxy.server.run import Listening
from proxy.tokens.vocabulary import Vocabulary
from proxy.wiring import Proxy, build

ProxyFactory = Callable[..., Awaitable["Proxied"]]


@cache
def loaded_vocabulary() -> Vocabulary:
    """
    Return the token tables, loaded once for all tests of a process.
    """
    vocabulary = Vocabulary()
    vocabulary.load()
    return vocabulary


@dataclass(slots=True)
class Reply:
    """
    What a client got: the whole answer.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def action(self) -> str:
        """
        What the proxy says it did.
        """
        return self.headers.get("x-concertina-action", "")


@dataclass(slots=True)
class Proxied:
    """
    A running proxy, its base *url*, and a plain client for it.
    """

    proxy: Proxy
    listening: Listening
    url: str
    session: aiohttp.ClientSession

    async def post(
        self, data: Any, *, headers: Mapping[str, str] | None = None, path: str = "/chat/completions"
    ) -> Reply:
        """
        Post JSON (or raw bytes) and return the whole answer.
        """
        body = data if isinstance(data, bytes) else dumps(data)
        sent = {"content-type": "application/json", "authorization": "Bearer client-key", **(headers or {})}
        # A file, since aiohttp warns of large bodies that are bytes.
        async with self.session.post(self.url + path, data=BytesIO(body), headers=sent) as response:
            return Reply(response.status, response.headers, await response.read())

    async def chat(self, messages: Any, *, headers: Mapping[str, str] | None = None, **fields: Any) -> Reply:
        """
        Post a chat completion.
        """
        return await self.post({"model": "sim-model", "messages": messages, **fields}, headers=headers)


@pytest.fixture
async def proxy_factory(tmp_path: Any) -> AsyncIterator[ProxyFactory]:
    """
    Hand out a starter of proxies (``upstream.url, compaction={...}``); the store is in memory unless given.
    """
    started: list[Proxied] = []

    async def start(base_url: str, **settings: Any) -> Proxied:
        upstream = {"base_url": base_url, **settings.pop("upstream", {})}
        vocabulary = settings.pop("vocabulary", None) or loaded_vocabulary()
        tracer = settings.pop("tracer", None)
        given = {"store": {"url": "memory://"}, "upstreams": {"sim": upstream}, **settings}
        proxy = await build(AppSettings.model_validate(given), vocabulary=vocabulary, tracer=tracer)
        listening, host, port = await proxy.start("127.0.0.1", 0)
        proxied = Proxied(proxy, listening, f"http://{host}:{port}/v1", aiohttp.ClientSession())
        started.append(proxied)
        return proxied

    yield start
    for proxied in started:
        await proxied.session.close()
        await proxied.listening.stop()
        await proxied.proxy.close()
