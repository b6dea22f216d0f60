import asyncio
import socket
import struct

import pytest

from proxy.errors import UpstreamBrokenError
from proxy.upstream.wire import ReadyChunks
from tests.support.edge import STREAM_HEAD, chunk, plain, says
from tests.support.reached import reached

OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
        b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length:2  \r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX-Odd: a\x01b\r\nContent-Length: 2\r\n\r\n{}",
        b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nX-Trailer: t\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: Chunked\r\n\r\n0002\r\n{}\r\n0\r\n\r\n",
    ],
)
async def test_takes_answers_of_careless_servers(raw):
    """
    Single line feeds, no reason, blanks here and there, an older version, extensions and trailers.
    """
    async with reached(says(raw)) as r:
        assert await asyncio.wait_for(r.ask(), 5) == (200, b"{}")


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/2 200\r\n\r\n",
        OK + b"no header\r\n\r\n",
        OK + b"Content-Length: two\r\n\r\n{}",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        OK + b"X-A: a\0b\r\nContent-Length: 2\r\n\r\n{}",
        OK + b"X-A: 1\r\n" * 600 + b"\r\n",
        OK + b"X-A: " + b"a" * 600_000,
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 20_000,
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"HTTP/1.1 000 Nothing\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 099 Less\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
async def test_refuses_what_is_no_answer(raw):
    """
    What two readers could understand in two ways, what has no end, what nobody asked for, and what is no HTTP at all.
    """
    async with reached(says(raw)) as r:
        with pytest.raises(UpstreamBrokenError, match="no HTTP"):
            await asyncio.wait_for(r.send(), 5)


@pytest.mark.parametrize("endless", [b"0\r\n" + b"X-A: b\r\n" * 100_000, b"1;" + b"a" * 700_000])
async def test_refuses_framing_without_end(endless):
    """
    Trailers and chunk extensions are counted like heads.
    """
    async with reached(says(STREAM_HEAD + chunk(b"data: 1\n\n") + endless)) as r:
        answer = await r.send()
        with pytest.raises(UpstreamBrokenError, match="no HTTP"):
            await asyncio.wait_for(answer.read(), 5)


async def test_reads_a_body_to_the_end_of_its_connection():
    """
    Without a length or chunks, the end of the connection is that of the body.
    """

    async def script(request, reader, writer):
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nall of")
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.write(b" it")
        writer.close()

    async with reached(script) as r:
        assert await r.ask() == (200, b"all of it")


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"HTTP/1.1 2",
        OK + b"Content-Length: 20\r\n",
        OK + b"Content-Length: 20\r\n\r\n{",
        STREAM_HEAD + b"5\r\nda",
        STREAM_HEAD + chunk(b"data: 1\n\n"),
        STREAM_HEAD + chunk(b"data: 1\n\n") + b"0\r\n",
    ],
)
@pytest.mark.parametrize("reset", [False, True])
async def test_an_answer_that_breaks_off_never_ends_cleanly(begun, reset):
    """
    Whether the connection is closed or reset, and wherever it is.
    """

    async def script(request, reader, writer):
        writer.write(begun)
        await writer.drain()
        await asyncio.sleep(0.01)
        if reset:
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    async with reached(script) as r:
        with pytest.raises(UpstreamBrokenError, match="connection broke"):
            await asyncio.wait_for(r.ask(), 5)


async def test_a_reset_is_no_end_of_a_body_without_a_length():
    """
    A crash in the middle would otherwise look whole.
    """

    async def script(request, reader, writer):
        writer.write(OK + b"\r\nhalf")
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    async with reached(script) as r:
        answer = await r.send()
        with pytest.raises(UpstreamBrokenError):
            await answer.read()


@pytest.mark.parametrize("broken", [b"zz\r\n", b"1\r\nabc\r\n"])
async def test_hands_out_what_came_before_a_broken_chunk(broken):
    """
    All of it, and then the fault.
    """
    async with reached(says(STREAM_HEAD + chunk(b"one") + broken)) as r:
        answer = await r.send()

        assert (await anext(answer.chunks)).startswith(b"one")
        for _ in range(2):
            with pytest.raises(UpstreamBrokenError):
                await anext(answer.chunks)


async def test_a_short_answer_is_whole_with_its_head():
    """
    So that it can leave with its head, in one write.
    """
    async with reached(plain(b"short")) as r:
        answer = await r.send()

        assert isinstance(answer.chunks, ReadyChunks)
        assert not answer.chunks.ended
        assert answer.chunks.ready() == b"short"
        assert answer.chunks.ended
        assert answer.chunks.ready() == b""
        assert [piece async for piece in answer.chunks] == []


async def test_an_answer_to_head_has_no_body():
    """
    Whatever length it states; its connection goes on.
    """
    async with reached(says(OK + b"Content-Length: 5000\r\n\r\n")) as r:
        assert await asyncio.wait_for(r.ask("HEAD"), 5) == (200, b"")
        assert await asyncio.wait_for(r.ask("HEAD"), 5) == (200, b"")
        assert r.upstream.connections == 1


async def test_passes_over_informational_answers():
    """
    Their headers and reasons are not those of the answer.
    """
    early = b"HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    async with reached(says(early + b"HTTP/1.1 201 Made\r\nX-A: 1\r\nContent-Length: 2\r\n\r\n{}")) as r:
        answer = await r.send()

        assert (answer.status, answer.reason, answer.headers) == (201, "Made", (("X-A", "1"), ("Content-Length", "2")))


async def test_a_server_is_held_back_while_nobody_reads():
    """
    Of an endless answer only so much is taken.
    """
    written = 0

    async def script(request, reader, writer):
        nonlocal written
        writer.write(STREAM_HEAD)
        piece = chunk(b"x" * 65_000)
        for _ in range(2_000):
            writer.write(piece)
            await writer.drain()
            written += len(piece)
        writer.write(b"0\r\n\r\n")

    async with reached(script) as r:
        answer = await r.send()
        before = -1
        while written != before:
            before = written
            await asyncio.sleep(0.2)
        held = written
        size = sum([len(piece) async for piece in answer.chunks])

    assert held < 30_000_000
    assert size == 2_000 * 65_000


async def test_closing_an_answer_ends_its_connection():
    """
    And who reads on is told so.
    """

    async def script(request, reader, writer):
        writer.write(STREAM_HEAD + chunk(b"1"))
        await reader.read()

    async with reached(script) as r:
        answer = await r.send()
        answer.close()
        answer.close()
        await asyncio.wait_for(r.upstream.left.wait(), 1)

        assert await anext(answer.chunks) == b"1"
        with pytest.raises(UpstreamBrokenError):
            await anext(answer.chunks)


async def test_whoever_stops_waiting_ends_the_connection():
    """
    Before the head, and within the body.
    """

    async def script(request, reader, writer):
        await reader.read()

    async with reached(script) as r:
        waiting = asyncio.ensure_future(r.send())
        await r.upstream.arrived.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait_for(r.upstream.left.wait(), 1)
