"""
Large bodies, which are read into where they stay.
"""

import asyncio
import gc
import tracemalloc
from pathlib import Path

import pytest

from proxy.server.basin import Basin
from proxy.server.settings import LimitsSettings
from proxy.upstream.wire import Answer
from tests.support.edge import CHAT, plain, world

STATM = Path("/proc/self/statm")
PAGES_IN_A_MEGABYTE = 256
LARGE = 9_000_001
FIRST = 1_500_000
"""Bytes after which the edge has begun to fill a basin."""


def resident() -> float:
    return int(STATM.read_text().split()[1]) / PAGES_IN_A_MEGABYTE


@pytest.fixture
def held():
    """
    Return what tells the megabytes that objects hold, of which no collection of garbage has found any.
    """
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[0] / 1_000_000
    tracemalloc.stop()
    gc.enable()


def numbered(size: int) -> bytes:
    """
    Return bytes of which none can be lost or moved without being missed.
    """
    return b"".join(b"%08d" % number for number in range(size // 8 + 1))[:size]


def head(size: int) -> bytes:
    return f"POST {CHAT} HTTP/1.1\r\nHost: p\r\nContent-Length: {size}\r\n\r\n".encode()


async def echo(request, reader, writer):
    await plain(request.body)(request, reader, writer)


class Measuring:
    """
    Answers with the size of the body.
    """

    async def chat(self, incoming):
        return Answer.of_bytes(200, (), b"%d" % len(incoming.body))


async def taken_up(one) -> None:
    """
    Wait until all that was sent has been read by the edge.
    """
    while not one.edge.inflight:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)


@pytest.mark.parametrize("size", [1, 4_095, 4_097, 2_097_152, 5_000_000])
def test_a_basin_gives_what_was_written_to_it(size):
    """
    Not a byte more than it was made for.
    """
    data = numbered(size)
    one = Basin(size, [data[: size // 2]])
    while room := len(one.free()):
        at, step = size - room, min(room, 70_000)
        one.free()[:step] = data[at : at + step]
        one.fill(step)

    assert one.whole() == data


def test_a_body_is_in_memory_once():
    """
    What a basin gives is no copy of it.
    """
    tracemalloc.start()
    try:
        one = Basin(LARGE, ())
        one.free()[:] = bytes(LARGE)
        one.fill(LARGE)
        tracemalloc.reset_peak()
        whole = one.whole()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert len(whole) == LARGE
    assert peak < 1.5 * LARGE


@pytest.mark.skipif(not STATM.exists(), reason="needs /proc")
async def test_a_body_that_does_not_come_takes_no_memory():
    """
    However much of it was announced.
    """
    async with world(echo) as w:
        client = await w.client()
        before = resident()
        await client.send(head(60_000_000) + numbered(FIRST))
        await taken_up(w)

        assert resident() - before < 25


@pytest.mark.parametrize("step", [65_521, 999_983, 20_000_000])
async def test_a_large_body_arrives_whole_and_apart_from_what_follows(step):
    """
    However it is cut, and the request behind it is one of its own.
    """
    body = numbered(LARGE)
    raw = head(LARGE) + body + head(5) + b"after"
    async with world(echo) as w:
        client = await w.client()
        for start in range(0, len(raw), step):
            await client.send(raw[start : start + step])
        large, small = await client.answer(), await client.answer()

        assert large.body == body
        assert small.body == b"after"
        assert [request.body == body for request in w.upstream.received] == [True, False]


async def test_a_connection_takes_one_large_body_after_the_other():
    """
    None of them is seen in the next.
    """
    async with world(echo) as w:
        client = await w.client()
        for letter in (b"a", b"b", b"c"):
            assert (await client.ask("POST", CHAT, body=letter * LARGE)).body == letter * LARGE


async def test_a_large_body_that_stops_coming_is_given_up():
    """
    One that comes slowly is waited for, and a client that was told so is heard out.
    """
    async with world(echo, limits=LimitsSettings(header_timeout=0.5)) as w:
        steady, silent = await w.client(), await w.client()
        for client in (steady, silent):
            await client.send(head(LARGE) + bytes(FIRST))
        for _ in range(4):
            await steady.send(b"1")
            await asyncio.sleep(0.2)
        told = await silent.answer()
        await silent.send(bytes(LARGE - FIRST))
        await steady.send(bytes(LARGE - FIRST - 4))
        answers = [told, await steady.answer()]

        assert [(one.status, len(one.body) == LARGE) for one in answers] == [(408, False), (200, True)]
        assert len(w.upstream.received) == 1


async def test_a_client_that_leaves_amid_a_large_body_ends_its_request():
    """
    The upstream hears nothing of it.
    """
    async with world(echo) as w:
        client = await w.client()
        await client.send(head(LARGE) + bytes(FIRST))
        await taken_up(w)
        await client.leave()
        await asyncio.wait_for(w.edge.idle.wait(), 5)

        assert (w.edge.inflight, w.upstream.received) == (0, [])


async def test_nothing_keeps_a_body_that_is_gone(held):
    """
    Not the transport that read it, nor anything that waits for a collection of garbage, which may be a long time coming.
    """
    async with world(handler=lambda _: Measuring()) as w:
        client = await w.client()
        before = held()
        answer = await client.ask("POST", CHAT, body=bytes(60_000_000))
        await asyncio.sleep(0.1)

        assert answer.body == b"60000000"
        assert held() - before < 5


@pytest.mark.parametrize("framing", ["Content-Length: 60000000", "Transfer-Encoding: chunked"])
async def test_nothing_keeps_a_body_whose_client_left_amid_it(framing, held):
    """
    Whoever sends most of a large body and leaves, again and again, must not fill the memory with what nobody will read.
    """
    start = f"POST {CHAT} HTTP/1.1\r\nHost: p\r\n{framing}\r\n\r\n".encode()
    start += b"3938700\r\n" if "chunked" in framing else b""
    async with world(handler=lambda _: Measuring()) as w:
        before = held()
        for _ in range(2):
            client = await w.client()
            await client.send(start + bytes(50_000_000))
            await taken_up(w)
            await client.leave()
            await asyncio.wait_for(w.edge.idle.wait(), 5)
        await asyncio.sleep(0.1)

        assert held() - before < 5
