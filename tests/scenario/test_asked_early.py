"""
A proxy that starts: it is alive as soon as it listens, and what is asked before it can answer waits.
"""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from proxy.chat.json import loads
from proxy.server.held import Held
from tests.support.edge import CHAT, World, plain, world
from tests.support.family import begun_by
from tests.support.processes import PATIENCE, ServeFactory, free_port

BODY = b'{"model": "m", "messages": []}'
KEPT = {"keepalive_after": lambda _: None, "client_keys": ()}


class Early:
    """
    Keeps the handler for later.
    """

    def __init__(self) -> None:
        self.handler: Any = None

    def __call__(self, handler: Any) -> Held:
        """
        Take the handler, and have requests wait for it.
        """
        self.handler = handler
        return Held()


async def waiting(w: World, count: int) -> None:
    while w.edge.inflight != count:
        await asyncio.sleep(0.01)


async def test_what_is_asked_early_waits_for_its_answer() -> None:
    """
    Chats and all else; whether the proxy is alive is answered at once.
    """
    early = Early()
    async with world(plain(b"{}"), handler=early) as w:
        asked = [
            asyncio.ensure_future(w.ask("POST", CHAT, body=BODY)),
            asyncio.ensure_future(w.ask("GET", "/v1/models")),
            asyncio.ensure_future(w.ask("PUT", "/v1/files", body=b"a" * 300_000)),
        ]
        await waiting(w, 3)
        alive = await w.ask("GET", "/healthz")
        before = len(w.upstream.received)
        w.edge.serve_with(early.handler, **KEPT)
        answers = await asyncio.gather(*asked)

    assert (alive.status, before) == (200, 0)
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert {request.body for request in w.upstream.received} == {BODY, b"", b"a" * 300_000}


async def test_who_does_not_wait_asks_nothing() -> None:
    """
    What it asked for is forgotten, not sent later.
    """
    early = Early()
    async with world(handler=early) as w:
        client = await w.client()
        asking = asyncio.ensure_future(client.ask("POST", CHAT, body=BODY))
        await waiting(w, 1)
        asking.cancel()
        await client.leave()
        await waiting(w, 0)
        w.edge.serve_with(early.handler, **KEPT)
        answer = await w.ask("GET", "/v1/models")

    assert answer.status == 200
    assert [request.target for request in w.upstream.received] == ["/v1/models"]


@pytest.mark.slow
async def test_a_process_is_alive_before_its_token_tables_are_there(serve_factory: ServeFactory, upstream: Any) -> None:
    """
    It says that it is not ready yet; a chat that comes then is answered, and long work still has the tables to share.
    """
    port = free_port()
    served = await serve_factory(upstream.url, listen=f"127.0.0.1:{port}")
    served.url = f"http://127.0.0.1:{port}"
    async with aiohttp.ClientSession() as http, asyncio.timeout(PATIENCE):
        while True:
            try:
                async with http.get(f"{served.url}/readyz") as response:
                    status, told = response.status, loads(await response.read())
                    break
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.001)
        async with http.get(f"{served.url}/healthz") as response:
            alive = response.status
    answered, _ = await served.post({"model": "m", "messages": [{"role": "user", "content": "hello"}]})
    ready, _ = await served.get(f"{served.url}/readyz")

    assert (status, told) == (503, {"status": "starting", "notes": ["token tables are loading"]})
    assert (alive, answered, ready) == (200, 200, 200)
    assert len(await begun_by(served.process.pid, 1)) == 1
