"""
A raw upstream, a raw client, and the proxy's edge between them: bytes are compared as they are on the wire.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from proxy.server.app import Edge
from proxy.server.connection import Connection
from proxy.server.run import Listening
from proxy.server.settings import LimitsSettings
from proxy.upstream.client import UpstreamClient
from proxy.upstream.passthrough import PassthroughHandler
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.target import UpstreamTarget


@dataclass
class Received:
    """
    A request as it reached the raw upstream.
    """

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    head: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def names(self) -> list[str]:
        return [name for name, _ in self.headers]


async def read_head(reader: asyncio.StreamReader) -> tuple[bytes, str, list[tuple[str, str]]]:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("utf-8", "surrogateescape").rstrip("\r\n").split("\r\n")
    pairs = [tuple(line.split(": ", 1)) if ": " in line else (line.rstrip(":"), "") for line in lines]
    return head, first, pairs


async def read_chunked(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int(await reader.readline(), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readline()
    return body


async def read_payload(reader: asyncio.StreamReader, headers: list[tuple[str, str]], *, to_end: bool = False) -> bytes:
    lower = {name.lower(): value for name, value in headers}
    if "chunked" in lower.get("transfer-encoding", ""):
        return await read_chunked(reader)
    if "content-length" in lower:
        return await reader.readexactly(int(lower["content-length"]))
    return await reader.read() if to_end else b""


Script = Callable[[Received, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def says(raw: bytes) -> Script:
    """
    Answer with exactly these bytes.
    """

    async def script(request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()

    return script


def plain(body: bytes = b"{}", *, status: str = "200 OK", headers: bytes = b"") -> Script:
    """
    Answer with a body of stated length.
    """
    return says(b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status.encode(), headers, len(body), body))


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class RawUpstream:
    """
    Speaks HTTP/1.1 by hand and keeps what it received.
    """

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self.script = script
        self.received: list[Received] = []
        self.connections = 0
        self.arrived = asyncio.Event()
        self.left = asyncio.Event()
        self.port = 0
        self.tls = tls
        self.read_bodies = True
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=2**20, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while not writer.is_closing():
                    await self._one(reader, writer)
        finally:
            self._tasks.discard(task)
            self.left.set()
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, first, headers = await read_head(reader)
        method, target, _ = first.split(" ")
        body = await read_payload(reader, headers) if self.read_bodies else b""
        request = Received(method, target, headers, body, head)
        self.received.append(request)
        self.arrived.set()
        await self.script(request, reader, writer)


@dataclass
class Answered:
    """
    An answer as the raw client got it; *complete* is false where the connection broke before its end.
    """

    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    complete: bool = True

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass
class RawClient:
    """
    One connection to the proxy.
    """

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, raw: bytes) -> None:
        self.writer.write(raw)
        await self.writer.drain()

    async def head(self) -> Answered:
        _, first, headers = await read_head(self.reader)
        _, status, reason = (*first.split(" ", 2), "")[:3]
        return Answered(int(status), reason, headers)

    async def answer(self, *, method: str = "GET") -> Answered:
        answered = await self.head()
        if method == "HEAD" or answered.status in {204, 304}:
            return answered
        try:
            answered.body = await read_payload(self.reader, answered.headers, to_end=True)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            answered.complete = False
        return answered

    async def ask(self, method: str, target: str, *, headers: bytes = b"", body: bytes | None = None) -> Answered:
        length = b"" if body is None else b"Content-Length: %d\r\n" % len(body)
        line = f"{method} {target} HTTP/1.1\r\nHost: proxy\r\n".encode()
        await self.send(line + headers + length + b"\r\n" + (body or b""))
        return await self.answer(method=method)

    async def read_until(self, wanted: bytes) -> bytes:
        return await self.reader.readuntil(wanted)

    async def leave(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@dataclass
class World:
    """
    The proxy's edge, its upstream, and clients.
    """

    edge: Edge
    listening: Listening
    upstream: RawUpstream
    port: int
    clients: list[RawClient] = field(default_factory=list)

    async def client(self) -> RawClient:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**20)
        self.clients.append(RawClient(reader, writer))
        return self.clients[-1]

    async def narrowed(self, client: RawClient) -> Connection:
        """
        Let little of what *client* does not read find room on its way, and return the edge's side of its connection.
        """
        client.writer.transport.pause_reading()
        client.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        name = client.writer.get_extra_info("sockname")
        while True:
            for line in tuple(self.listening._connections.opened):
                transport = line.flow.transport
                if transport.get_extra_info("peername") == name:
                    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
                    return line
            await asyncio.sleep(0.01)

    async def ask(self, method: str, target: str, *, headers: bytes = b"", body: bytes | None = None) -> Answered:
        return await (await self.client()).ask(method, target, headers=headers, body=body)


def served_by(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@pytest.fixture
def never_blocks() -> Iterator[None]:
    """
    Fail a test in which anything blocks the event loop.
    """
    with blockbuster_ctx():
        yield


CHAT = "/v1/chat/completions"


@asynccontextmanager
async def world(
    script: Script | None = None,
    *,
    base: str = "/v1",
    limits: LimitsSettings | None = None,
    handler: Callable[[PassthroughHandler], object] | None = None,
    strip: str = "",
    client_keys: tuple[str, ...] = (),
    keepalive_after: float | None = 40.0,
    tls: tuple[Path, Path] | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: object,
) -> AsyncIterator[World]:
    """
    Run the edge in front of a raw upstream; *handler* may wrap the plain one.
    """
    upstream = RawUpstream(script or plain(), served_by(*tls) if tls else None)
    await upstream.start()
    scheme = "https://localhost" if tls else "http://127.0.0.1"
    configured = UpstreamSettings(**{"base_url": f"{scheme}:{upstream.port}{base}", **settings})
    target = UpstreamTarget("up", configured, strip, client_keys)
    client = UpstreamClient({"up": configured}, environ=environ)
    passing = PassthroughHandler(client, lambda _: target)
    edge = Edge(
        handler(passing) if handler else passing,
        limits=limits or LimitsSettings(),
        keepalive_after=lambda _: keepalive_after,
        client_keys=client_keys,
    )
    listening = Listening(edge)
    _, port = await listening.start("127.0.0.1", 0)
    built = World(edge, listening, upstream, port)
    try:
        yield built
    finally:
        for one in built.clients:
            await one.leave()
        await listening.stop()
        await client.close()
        await upstream.stop()
