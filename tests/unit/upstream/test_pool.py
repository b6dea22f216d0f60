import asyncio

import pytest

from proxy.errors import UpstreamBrokenError
from proxy.upstream import pool
from tests.support.edge import STREAM_HEAD, chunk, plain, says
from tests.support.reached import reached


async def test_a_connection_carries_one_request_after_the_other():
    """
    And never two at once.
    """
    async with reached() as r:
        for _ in range(3):
            await r.ask()
        assert r.upstream.connections == 1
        await asyncio.gather(*(r.ask() for _ in range(4)))
        assert r.upstream.connections == 4


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n!!",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}H",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}\0",
        b"HTTP/1.1 204 No Content\r\n\r\nbody",
        STREAM_HEAD + chunk(b"{}") + b"0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=1\r\n\r\n{}",
    ],
)
async def test_lets_go_of_a_connection_that_could_be_misread(raw):
    """
    One that closes, has said too much, carried an event stream, or is promised for no time.
    """
    async with reached(says(raw)) as r:
        for _ in range(2):
            answer = await asyncio.wait_for(r.send(), 5)
            assert (answer.status, answer.reason) in {(200, "OK"), (204, "No Content")}
            assert await answer.read() in {b"{}", b""}

        assert r.upstream.connections == 2


async def test_a_connection_that_has_rested_is_preferred():
    """
    A server may hang up right after an answer without a word about it: what is written meanwhile is lost.
    """
    together, served = asyncio.Barrier(2), []

    async def script(request, reader, writer):
        served.append(writer)
        if request.target == "/together":
            await together.wait()
        await plain()(request, reader, writer)

    async with reached(script) as r:
        await asyncio.gather(*(r.ask(path="/together") for _ in range(2)))
        await asyncio.sleep(0.05)
        for _ in range(2):
            await r.ask()

        assert len(set(served[:2])) == len(set(served[2:])) == 2


async def test_bytes_that_nobody_asked_for_end_a_kept_connection():
    """
    They would be taken for the answer to the next request.
    """
    writers = []

    async def script(request, reader, writer):
        writers.append(writer)
        await plain()(request, reader, writer)

    async with reached(script) as r:
        await r.ask()
        writers[0].write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        await asyncio.sleep(0.05)

        assert await r.ask() == (200, b"{}")
        assert r.upstream.connections == 2


async def test_closes_what_has_been_idle_for_too_long(monkeypatch):
    """
    Without waiting for the next request.
    """
    monkeypatch.setattr(pool, "PLAIN_SECONDS", 0.05)
    both = asyncio.Barrier(2)

    async def script(request, reader, writer):
        if request.target == "/together":
            await both.wait()
        await plain()(request, reader, writer)

    async with reached(script) as r:
        await asyncio.gather(r.ask(path="/together"), r.ask(path="/together"))
        (kept,) = r.client._shared.by_line.values()
        async with asyncio.timeout(2):
            while kept._all:
                await asyncio.sleep(0.01)
        await r.ask()

        assert r.upstream.connections == 3


def breaks_on_the_second(after=b""):
    """
    Answer a connection's first request, and hang up on its second.
    """
    answered = set()

    async def script(request, reader, writer):
        if writer in answered:
            writer.write(after)
            writer.close()
            return
        answered.add(writer)
        await plain()(request, reader, writer)

    return script


async def test_repeats_what_may_be_repeated_once():
    """
    A GET on a kept connection that the upstream was just closing.
    """
    async with reached(breaks_on_the_second()) as r:
        assert [await r.ask("GET") for _ in range(3)] == [(200, b"{}")] * 3
        assert r.upstream.connections == 3
        assert len(r.upstream.received) == 5


async def empty():
    return
    yield b""


@pytest.mark.parametrize(
    ("method", "body", "after"),
    [("POST", lambda: b"{}", b""), ("PUT", empty, b""), ("GET", lambda: b"", b"HTTP/1.1 2")],
)
async def test_never_repeats_what_may_have_been_done(method, body, after):
    """
    A POST that left, a body that has been read, an answer that has begun.
    """
    async with reached(breaks_on_the_second(after)) as r:
        assert (await r.ask(method, body=body()))[0] == 200
        with pytest.raises(UpstreamBrokenError):
            await r.ask(method, body=body())
        assert len(r.upstream.received) == 2


async def test_a_new_connection_is_not_tried_twice():
    """
    That server hangs up on everybody.
    """

    async def script(request, reader, writer):
        writer.close()

    async with reached(script) as r:
        with pytest.raises(UpstreamBrokenError):
            await r.ask("GET")
        assert r.upstream.connections == 1


async def test_closing_the_client_ends_all_connections():
    """
    Idle ones, and those in use.
    """

    async def script(request, reader, writer):
        if request.target == "/busy":
            await reader.read()
        await plain()(request, reader, writer)

    async with reached(script) as r:
        busy = asyncio.ensure_future(r.ask(path="/busy"))
        await r.upstream.arrived.wait()
        await r.ask()
        await r.client.close()
        with pytest.raises(UpstreamBrokenError):
            await asyncio.wait_for(busy, 1)
        assert not r.client._shared.by_line


async def test_a_renewed_client_goes_on_with_the_connections():
    """
    Where the upstream stays as it is.
    """
    async with reached() as r:
        await r.ask()
        old, r.client = r.client, r.client.renewed(r.client._upstreams)
        await r.ask()

        assert r.upstream.connections == 1
        await old.close()


async def test_a_heavy_load_leaves_nothing_behind():
    """
    A thousand requests, some cancelled at every stage: all connections are idle or gone, and none is mixed up.
    """

    async def script(request, reader, writer):
        await asyncio.sleep(0.001)
        await plain(request.body)(request, reader, writer)

    async with reached(script) as r:

        async def one(number):
            body = b"%d" % number
            asking = asyncio.ensure_future(r.ask(body=body))
            if number % 3 == 0:
                await asyncio.sleep(number % 7 / 2_000)
                asking.cancel()
            try:
                return await asking == (200, body)
            except asyncio.CancelledError:
                return True

        for start in range(0, 1_000, 50):
            assert all(await asyncio.gather(*map(one, range(start, start + 50))))
        await asyncio.sleep(0.05)
        (kept,) = r.client._shared.by_line.values()

        assert set(kept._idle) == kept._all
        assert all(connection.receiver is None for connection in kept._all)
