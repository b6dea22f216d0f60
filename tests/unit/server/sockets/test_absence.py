"""
Clients that leave while nothing is read of them: their call ends as soon as that of any other.
"""

import asyncio
import socket
import struct

import pytest

from proxy.server import watch
from tests.support.edge import CHAT, never_blocks, plain, world

pytestmark = pytest.mark.usefixtures("never_blocks")
__all__ = ["never_blocks"]

PIECE = b"a" * 16_384
HANDSHAKE = b"GET /v1/realtime HTTP/1.1\r\nHost: p\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
GENEROUS = 10
"""Seconds within which it has to happen at all."""


def post(target=CHAT, *, length=2):
    return b"POST %b HTTP/1.1\r\nHost: p\r\nContent-Length: %d\r\n\r\n{}" % (target.encode(), length)


async def hangs(request, reader, writer):
    await reader.read()


async def nobody_connected(w):
    async with asyncio.timeout(GENEROUS):
        while w.edge.inflight or w.listening._connections.opened:
            await asyncio.sleep(0.01)


def reset(client):
    raw = client.writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.writer.transport.abort()


async def held(w, client, raw, *, most=100):
    """
    Send *raw* and bytes behind it until the edge reads no more of this client, and return the edge's side.
    """
    await client.send(raw)
    name = client.writer.get_extra_info("sockname")
    lines = w.listening._connections.opened
    (line,) = [one for one in lines if one.flow.transport.get_extra_info("peername") == name]
    for _ in range(most):
        if line.flow._held:
            return line
        await client.send(PIECE)
        await asyncio.sleep(0.001)
    raise AssertionError("it is not held back")


def deaf(script=hangs):
    """
    Take a connection and read nothing of what comes behind the head.
    """

    async def start(request, reader, writer):
        reader._limit = 1
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        await script(request, reader, writer)

    return start


async def never(request, reader, writer):
    await asyncio.Event().wait()


async def switches(request, reader, writer):
    writer.write(SWITCH)
    await never(request, reader, writer)


LEAVING = {
    "close": lambda client: client.writer.close(),
    "half": lambda client: client.writer.write_eof(),
    "reset": reset,
}


@pytest.mark.parametrize("leave", LEAVING.values(), ids=LEAVING)
class TestClientsThatLeaveWhileTheyAreNotRead:
    """
    The end of their connection stands behind bytes that nobody reads for now.
    """

    @pytest.mark.parametrize("target", [CHAT, "/v1/files"])
    async def test_many_requests_in_advance_do_not_hide_that_a_client_leaves(self, leave, target):
        """
        The call that runs is ended.
        """
        async with world(hangs) as w:
            client = await w.client()
            await held(w, client, post(target))
            await w.upstream.arrived.wait()
            leave(client)

            await asyncio.wait_for(w.upstream.left.wait(), GENEROUS)
            await nobody_connected(w)

    async def test_the_rest_of_an_upload_does_not_hide_that_its_client_leaves(self, leave):
        """
        The upstream does not take it; the proxy does not wait for that.
        """
        async with world(deaf(never)) as w:
            w.upstream.read_bodies = False
            client = await w.client()
            await held(w, client, post("/v1/files", length=2**30), most=5_000)
            leave(client)

            await nobody_connected(w)

    async def test_frames_do_not_hide_that_a_client_leaves_its_tunnel(self, leave):
        """
        The upstream does not take them.
        """
        async with world(deaf(switches)) as w:
            client = await w.client()
            await held(w, client, HANDSHAKE, most=5_000)
            leave(client)

            await nobody_connected(w)

    async def test_a_body_in_memory_that_its_upstream_does_not_take_ends_with_its_client(self, leave):
        """
        Nothing of the client is unread here; the upstream gets no more of the body.
        """
        size = 30_000_000
        got = asyncio.get_running_loop().create_future()
        going = asyncio.Event()

        async def script(request, reader, writer):
            await going.wait()
            count = 0
            while data := await reader.read(2**20):
                count += len(data)
            got.set_result(count)

        async with world(script) as w:
            w.upstream.read_bodies = False
            client = await w.client()
            await client.send(post(length=size) + bytes(size - 2))
            await w.upstream.arrived.wait()
            await asyncio.sleep(0.2)
            leave(client)
            await nobody_connected(w)
            going.set()

            assert await asyncio.wait_for(got, GENEROUS) < size


async def test_an_upload_that_its_upstream_takes_slowly_is_not_taken_for_left(monkeypatch):
    """
    Its client is held back again and again, for longer than it takes to look whether it is still there.
    """
    monkeypatch.setattr(watch, "_ABSENCE_SECONDS", 0.01)
    size = 8_000_000

    async def slow(request, reader, writer):
        left = size
        while left:
            await asyncio.sleep(0.03)
            left -= len(await reader.read(200_000))
        await plain(b"all")(request, reader, writer)

    async with world(slow) as w:
        w.upstream.read_bodies = False
        client = await w.client()
        sending = asyncio.ensure_future(client.send(post("/v1/files", length=size) + bytes(size - 2)))
        answer = await asyncio.wait_for(client.answer(), 60)
        await sending

        assert answer.body == b"all"
