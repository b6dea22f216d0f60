"""
The whole proxy, pipeline included, between a raw upstream and raw clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.edge import CHAT, Answered, RawClient, RawUpstream, Script, plain
from tests.support.proxied import Proxied, ProxyFactory


@dataclass
class Whole:
    """
    A proxy, its upstream, and its clients.
    """

    proxied: Proxied
    upstream: RawUpstream
    clients: list[RawClient] = field(default_factory=list)

    async def client(self) -> RawClient:
        """
        Return a new connection to the proxy.
        """
        host, port = self.proxied.url.split("/")[2].split(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=2**24)
        self.clients.append(RawClient(reader, writer))
        return self.clients[-1]

    async def send(self, body: bytes, *, target: str = CHAT) -> RawClient:
        """
        Send a request, and leave its answer unread.
        """
        client = await self.client()
        head = f"POST {target} HTTP/1.1\r\nHost: p\r\nAuthorization: Bearer k\r\nContent-Length: {len(body)}\r\n\r\n"
        await client.send(head.encode() + body)
        return client

    async def post(self, body: bytes, *, target: str = CHAT) -> Answered:
        """
        Send a request and return its answer.
        """
        return await (await self.send(body, target=target)).answer()

    @property
    def inflight(self) -> int:
        """
        How many requests the edge holds.
        """
        return self.proxied.proxy.edge.inflight

    @property
    def running(self) -> list[str]:
        """
        Name the background tasks that are no lasting ones.
        """
        return [task.get_name() for task in self.proxied.proxy.core.tasks._passing()]

    @property
    def tasks(self) -> int:
        """
        How many background tasks there are.
        """
        return len(self.proxied.proxy.core.tasks)


@asynccontextmanager
async def beside(proxied: Proxied) -> AsyncIterator[Whole]:
    """
    Give raw clients of a proxy that has its upstream already.
    """
    built = Whole(proxied, RawUpstream(plain()))
    try:
        yield built
    finally:
        for client in built.clients:
            await client.leave()


@asynccontextmanager
async def whole(proxy_factory: ProxyFactory, script: Script | None = None, **settings: Any) -> AsyncIterator[Whole]:
    """
    Run the proxy in front of a raw upstream that is asked for nothing but what clients ask.
    """
    upstream = RawUpstream(script or plain())
    await upstream.start()
    configured = {"discover": False, **settings.pop("upstream", {})}
    proxied = await proxy_factory(f"http://127.0.0.1:{upstream.port}/v1", upstream=configured, **settings)
    built = Whole(proxied, upstream)
    try:
        yield built
    finally:
        for client in built.clients:
            await client.leave()
        await upstream.stop()
