"""
The client side of the proxy alone, in front of a raw upstream.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from proxy.upstream.client import UpstreamClient
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.wire import Answer, Headers, Outgoing
from tests.support.edge import RawUpstream, Script, plain, served_by


@dataclass
class Reached:
    """
    A client and the upstream that it reaches under *url*.
    """

    client: UpstreamClient
    upstream: RawUpstream
    url: str

    async def send(
        self,
        method: str = "POST",
        path: str = "/chat",
        *,
        headers: Headers = (),
        body: bytes | AsyncIterable[bytes] = b"",
    ) -> Answer:
        return await self.client.send(Outgoing("up", method, self.url + path, headers, body))

    async def ask(
        self,
        method: str = "POST",
        path: str = "/chat",
        *,
        headers: Headers = (),
        body: bytes | AsyncIterable[bytes] = b"",
    ) -> tuple[int, bytes]:
        """
        Return status and body.
        """
        answer = await self.send(method, path, headers=headers, body=body)
        return answer.status, await answer.read()


@asynccontextmanager
async def reached(
    script: Script | None = None,
    *,
    tls: tuple[Path, Path] | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: object,
) -> AsyncIterator[Reached]:
    """
    Run a raw upstream, and a client that knows it as ``up``.
    """
    upstream = RawUpstream(script or plain(), served_by(*tls) if tls else None)
    await upstream.start()
    url = f"{'https://localhost' if tls else 'http://127.0.0.1'}:{upstream.port}"
    configured = UpstreamSettings(**{"base_url": url, **settings})
    client = UpstreamClient({"up": configured}, environ=environ)
    try:
        yield Reached(client, upstream, configured.base_url)
    finally:
        await client.close()
        await upstream.stop()
