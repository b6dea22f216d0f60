"""
WebSockets pass as bytes, since realtime clients speak them under the same base URL.
"""

import asyncio

import aiohttp
import pytest
from aiohttp import web

from tests.support.edge import never_blocks, plain, world

pytestmark = pytest.mark.usefixtures("never_blocks")
__all__ = ["never_blocks"]

HANDSHAKE = (
    b"GET /v1/realtime?model=m HTTP/1.1\r\nHost: p\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer k\r\n\r\n"
)
SWITCH = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: a\r\n\r\n"
)


async def echo(request, reader, writer):
    writer.write(SWITCH + b"hello")
    while data := await reader.read(1000):
        writer.write(data)
        await writer.drain()
    writer.close()


async def opened(w):
    client = await w.client()
    await client.send(HANDSHAKE)
    return client, await client.head()


async def test_passes_bytes_both_ways_after_the_switch():
    """
    What the upstream says first, and what the client says later.
    """
    async with world(echo) as w:
        client, head = await opened(w)
        first = await client.reader.readexactly(5)
        await client.send(b"\x81\x02hi")

        assert (head.status, head.header("sec-websocket-accept"), first) == (101, "a", b"hello")
        assert await client.reader.readexactly(4) == b"\x81\x02hi"


async def test_passes_the_handshake_on():
    """
    With the query, the credential and the key of the handshake.
    """
    async with world(echo) as w:
        await opened(w)

        received = w.upstream.received[0]
        assert (received.target, received.header("upgrade")) == ("/v1/realtime?model=m", "websocket")
        assert (received.header("authorization"), received.header("sec-websocket-version")) == ("Bearer k", "13")


async def test_ends_the_upstream_when_the_client_leaves():
    """
    Within a second, as everywhere.
    """
    async with world(echo) as w:
        client, _ = await opened(w)
        await client.leave()

        await asyncio.wait_for(w.upstream.left.wait(), 1)


async def test_ends_the_client_when_the_upstream_leaves():
    """
    The other way round.
    """

    async def script(request, reader, writer):
        writer.write(SWITCH)
        await writer.drain()
        writer.close()

    async with world(script) as w:
        client, _ = await opened(w)

        assert await asyncio.wait_for(client.reader.read(), 1) == b""


async def test_passes_a_refused_handshake():
    """
    A server without WebSockets answers in plain HTTP.
    """
    async with world(plain(b"no", status="426 Upgrade Required")) as w:
        client = await w.client()
        await client.send(HANDSHAKE)
        answer = await client.answer()

        assert (answer.status, answer.body) == (426, b"no")


@pytest.mark.parametrize("size", [10, 300_000])
async def test_serves_a_real_websocket_client(size):
    """
    Frames, masks and the closing handshake survive.
    """

    async def serve(request):
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(request)
        async for message in socket:
            await socket.send_str(message.data)
        return socket

    runner = web.ServerRunner(web.Server(serve))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with world(base_url=f"http://127.0.0.1:{runner.addresses[0][1]}/v1") as w, aiohttp.ClientSession() as session:
        async with session.ws_connect(f"http://127.0.0.1:{w.port}/v1/realtime", max_msg_size=0) as socket:
            await socket.send_str("x" * size)
            received = await socket.receive_str()
        closed = socket.close_code
    await runner.cleanup()

    assert (len(received), closed) == (size, 1000)
