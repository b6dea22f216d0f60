"""
Clients that do not read what waits for them hold neither an upstream nor a connection for ever.
"""

import asyncio
import socket

import pytest
from structlog.testing import capture_logs

from proxy.server import connection
from proxy.server.settings import LimitsSettings
from tests.support.edge import CHAT, STREAM_HEAD, RawClient, chunk, never_blocks, plain, world

pytestmark = pytest.mark.usefixtures("never_blocks")
__all__ = ["never_blocks"]

IMPATIENT = LimitsSettings(send_timeout=0.2)
HANDSHAKE = b"GET /v1/realtime HTTP/1.1\r\nHost: p\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
PIECE = b"a" * 16_384
GENEROUS = 10
"""Seconds within which it has to happen at all."""


def post(target=CHAT, *, length=2, headers=b"", version=b"1.1"):
    head = b"POST %b HTTP/%b\r\nHost: p\r\n%bContent-Length: %d\r\n\r\n" % (target.encode(), version, headers, length)
    return head + b"{}"


def pours(head):
    """
    Answer without end.
    """

    async def script(request, reader, writer):
        writer.write(head)
        while True:
            writer.write(chunk(b"data: %b\n\n" % PIECE))
            await writer.drain()

    return script


async def unread_by(w, raw):
    """
    Send a request whose answer is not read, and return client and line once bytes of it wait.
    """
    narrow = socket.socket()
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    narrow.setblocking(False)
    await asyncio.get_running_loop().sock_connect(narrow, ("127.0.0.1", w.port))
    client = RawClient(*await asyncio.open_connection(sock=narrow, limit=1024))
    w.clients.append(client)
    line = await w.narrowed(client)
    await client.send(raw)
    while not line.flow.transport.get_write_buffer_size():
        await asyncio.sleep(0.01)
    return client, line


async def nobody_connected(w):
    async with asyncio.timeout(GENEROUS):
        while w.edge.inflight or w.listening._connections.opened:
            await asyncio.sleep(0.01)


async def what_is_left(client):
    """
    Read to the end, and tell whether that was a reset.
    """
    client.writer.transport.resume_reading()
    try:
        await client.reader.read()
    except ConnectionResetError:
        return "reset"
    return "end"


class TestAnswersThatNobodyReads:
    """
    ``limits.send_timeout``: not one byte of what waits was taken for so long.
    """

    @pytest.mark.parametrize("target", [CHAT, "/v1/files"])
    @pytest.mark.parametrize("version", [b"1.0", b"1.1"])
    async def test_an_answer_that_is_not_read_is_given_up(self, target, version):
        """
        The client is reset, its upstream call ends, its place is free, and one event tells.
        """
        async with world(pours(STREAM_HEAD), limits=IMPATIENT) as w:
            with capture_logs() as events:
                client, _ = await unread_by(w, post(target, version=version))
                await asyncio.wait_for(w.upstream.left.wait(), GENEROUS)
                await nobody_connected(w)

            (event,) = events
            assert (event["event"], event["log_level"], event["seconds"]) == ("client.stalled", "warning", 0.2)
            assert event["waiting"] > 0
            assert await what_is_left(client) == "reset"

    async def test_every_byte_that_is_taken_renews_the_time(self):
        """
        A slow reader that takes many times as long for the whole gets the whole.
        """
        body = PIECE * 6
        async with world(plain(body), limits=LimitsSettings(send_timeout=0.4)) as w:
            with capture_logs() as events:
                client, _ = await unread_by(w, b"GET /v1/models HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n")
                client.writer.transport.resume_reading()
                got = b""
                while piece := await client.reader.read(2_000):
                    got += piece
                    await asyncio.sleep(0.02)

            assert (got.partition(b"\r\n\r\n")[2], events) == (body, [])

    async def test_a_client_that_reads_again_in_time_goes_on(self):
        """
        The time before does not count against the next pause.
        """
        async with world(pours(STREAM_HEAD), limits=LimitsSettings(send_timeout=1.0)) as w:
            client, line = await unread_by(w, post())
            for _ in range(4):
                while not line.flow.paused:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.4)
                client.writer.transport.resume_reading()
                await client.reader.readexactly(30_000)

            assert not w.upstream.left.is_set()

    async def test_frames_that_are_not_read_end_the_tunnel(self):
        """
        On both sides.
        """
        async with world(pours(SWITCH), limits=IMPATIENT) as w:
            with capture_logs() as events:
                client, _ = await unread_by(w, HANDSHAKE)
                await asyncio.wait_for(w.upstream.left.wait(), GENEROUS)
                await nobody_connected(w)

            assert [one["event"] for one in events] == ["client.stalled"]
            assert await what_is_left(client) == "reset"

    async def test_an_upstream_that_broke_off_meanwhile_changes_nothing(self):
        """
        The client could not be told; it is not waited for longer than for any other.
        """

        async def breaks(request, reader, writer):
            writer.write(STREAM_HEAD + chunk(b"data: %b\n\n" % (PIECE * 40)) + b"ff\r\nhalf")
            await writer.drain()
            writer.close()

        async with world(breaks, limits=IMPATIENT) as w:
            await unread_by(w, post())

            await nobody_connected(w)

    async def test_a_next_request_does_not_wait_for_ever_for_an_answer_to_be_read(self):
        """
        Nothing is being answered; the connection alone is held.
        """
        async with world(plain(PIECE * 40), limits=IMPATIENT) as w:
            await unread_by(w, b"GET /v1/models HTTP/1.1\r\nHost: p\r\n\r\n" * 2)

            await nobody_connected(w)
            assert len(w.upstream.received) == 1


class TestConnectionsThatEnd:
    """
    A connection is closed once all has been written: that must not be never.
    """

    async def test_the_last_answer_is_not_waited_for_for_ever(self):
        """
        It is short enough for the upstream to be done with; still its client does not read it.
        """
        async with world(plain(PIECE * 2), limits=IMPATIENT) as w:
            client, _ = await unread_by(w, b"GET /v1/models HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n")

            await nobody_connected(w)
            assert await what_is_left(client) == "reset"

    async def test_the_last_answer_is_waited_for_while_it_is_read(self):
        """
        However slowly, and though the connection has been closed on our side already.
        """
        body = PIECE * 3
        async with world(plain(body), limits=LimitsSettings(send_timeout=0.4)) as w:
            client, _ = await unread_by(w, b"GET /v1/models HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n")
            client.writer.transport.resume_reading()
            got = b""
            while piece := await client.reader.read(1_000):
                got += piece
                await asyncio.sleep(0.03)

            assert got.partition(b"\r\n\r\n")[2] == body

    async def test_a_rest_between_requests_ends_though_the_answer_is_unread(self, monkeypatch):
        """
        The connection would have been kept for another request, which does not come.
        """
        monkeypatch.setattr(connection, "_IDLE_SECONDS", 0.1)
        async with world(plain(PIECE * 2), limits=IMPATIENT) as w:
            await unread_by(w, b"GET /v1/models HTTP/1.1\r\nHost: p\r\n\r\n")

            await nobody_connected(w)

    async def test_half_a_close_upon_an_unread_answer_is_an_end(self):
        """
        The answer had been written; what has not been taken of it is not kept for ever.
        """
        async with world(plain(PIECE * 2), limits=IMPATIENT) as w:
            client, _ = await unread_by(w, b"GET /v1/models HTTP/1.1\r\nHost: p\r\n\r\n")
            while w.edge.inflight:
                await asyncio.sleep(0.01)
            client.writer.write_eof()

            await nobody_connected(w)

    async def test_a_refusal_that_is_not_read_is_not_kept(self, monkeypatch):
        """
        Behind unread answers of requests before it.
        """
        monkeypatch.setattr(connection, "_LINGERING_SECONDS", 0.1)
        async with world(plain(PIECE * 2), limits=IMPATIENT) as w:
            await unread_by(w, b"GET /v1/models HTTP/1.1\r\nHost: p\r\n\r\n" + b"no HTTP\r\n\r\n")

            await nobody_connected(w)

    @pytest.mark.parametrize("script", [pours(STREAM_HEAD), plain(PIECE * 2)], ids=["in flight", "written"])
    async def test_the_drain_at_the_end_does_not_wait_for_readers_that_do_not_read(self, script):
        """
        It has its own limit.
        """
        async with world(script) as w:
            await unread_by(w, post())

            await asyncio.wait_for(w.listening.stop(drain=0.3), GENEROUS)
            assert not w.listening._connections.opened
