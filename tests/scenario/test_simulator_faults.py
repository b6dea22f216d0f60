import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from proxy.chat.json import loads
from proxy.simulator.steps import (
    answer,
    delay,
    empty_stream,
    gated,
    gzipped,
    hang,
    lying_content_length,
    malformed_chunking,
    raw,
    reset_at_once,
    reset_midstream,
    sse_error,
    status,
    then_hang_up,
    truncated_gzip,
    when,
)
from tests.support.conversations import request, system, user

pytest_plugins = ["tests.support.fake_upstream"]

ROWS = [system(), user("hello")]


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


def post(http, upstream, **fields):
    return http.post(upstream.url + "/chat/completions", data=request(ROWS, **fields))


async def read_into(got, response):
    """
    Append what comes, so that it is kept when the end is an error.
    """
    async for chunk in response.content.iter_any():
        got.append(chunk)


async def raw_exchange(upstream, body, *, until=b""):
    """
    Return the bytes of the answer as they are on the wire, up to *until* or to the end of the connection.
    """
    host, port = upstream.url.removeprefix("http://").removesuffix("/v1").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: sim\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    try:
        return await (reader.readuntil(until) if until else reader.read())
    finally:
        writer.close()


async def test_notices_a_client_that_leaves_before_the_answer(http, upstream):
    """
    A waiting call is cancelled when its connection goes.
    """
    upstream.will(hang())
    asking = asyncio.ensure_future(post(http, upstream).__aenter__())
    await upstream.until(lambda: upstream.received)

    asking.cancel()
    await upstream.until(lambda: upstream.received[0].cancelled)

    assert not upstream.received[0].finished


async def test_notices_a_client_that_leaves_in_the_middle_of_a_stream(http, upstream):
    """
    The same after the first chunks.
    """
    upstream.will(hang(after_chunks=2))
    async with post(http, upstream, stream=True) as response:
        await response.content.readany()

        response.close()
        await upstream.until(lambda: upstream.received[0].cancelled)

    assert not upstream.received[0].finished


async def test_a_client_that_stays_is_not_noted_as_gone(http, upstream):
    """
    A whole answer is finished and not cancelled.
    """
    async with post(http, upstream) as response:
        await response.read()
    await upstream.until(lambda: upstream.received[0].finished)

    assert not upstream.received[0].cancelled


async def test_a_gate_holds_an_answer(http, upstream):
    """
    Tests order events without sleeping.
    """
    gate = asyncio.Event()
    upstream.will(gated(gate, answer("late")))
    asking = asyncio.ensure_future(post(http, upstream).__aenter__())
    await upstream.until(lambda: upstream.received)
    assert not asking.done()

    gate.set()

    async with await asking as response:
        assert "late" in await response.text()


@pytest.mark.parametrize("clean_close", [True, False])
async def test_a_stream_dies_after_so_many_chunks(http, upstream, clean_close):
    """
    The chunks before the end arrive; the end is an error.
    """
    upstream.will(reset_midstream(after_chunks=2, clean_close=clean_close))
    got: list[bytes] = []

    async with post(http, upstream, stream=True) as response:
        with pytest.raises(aiohttp.ClientError):
            await read_into(got, response)

    assert (b"".join(got).count(b"data: "), b"[DONE]" in b"".join(got)) == (2, False)


async def test_a_connection_dies_before_an_answer(http, upstream):
    """
    Nothing is answered at all.
    """
    upstream.will(reset_at_once())

    with pytest.raises(aiohttp.ClientError):
        await post(http, upstream)


async def test_a_connection_is_closed_without_a_word(upstream):
    """
    The answer is whole and promises nothing about the connection, which then ends.
    """
    upstream.will(then_hang_up(answer("bye")))

    wire = await raw_exchange(upstream, request(ROWS))

    assert b"bye" in wire
    assert b"onnection: close" not in wire


async def test_an_empty_stream_ends_cleanly(http, upstream):
    """
    Status 200, an event stream, and no byte.
    """
    upstream.will(empty_stream())

    async with post(http, upstream, stream=True) as response:
        assert (response.status, response.content_type, await response.read()) == (200, "text/event-stream", b"")


async def test_an_error_can_come_inside_a_stream(http, upstream):
    """
    Status 200, some chunks, then an error event and no end.
    """
    upstream.will(sse_error("the engine died", code="boom", after_chunks=2))

    async with post(http, upstream, stream=True) as response:
        text = await response.text()

    assert (response.status, text.count("data: "), "[DONE]" in text) == (200, 3, False)
    assert loads(text.rsplit("data: ", 1)[1].encode())["error"]["code"] == "boom"


async def test_chunked_encoding_can_be_broken(upstream):
    """
    A size line that is no number.
    """
    upstream.will(malformed_chunking(after_chunks=1))

    wire = await raw_exchange(upstream, request(ROWS, stream=True))

    assert wire.endswith(b"this is no size\r\nrubbish\r\n")


async def test_a_content_length_can_lie(http, upstream):
    """
    Fewer bytes come than were promised.
    """
    upstream.will(lying_content_length())

    async with post(http, upstream) as response:
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()


async def test_gzip_can_stop_in_the_middle(http, upstream):
    """
    The bytes are all there, but they do not unpack.
    """
    upstream.will(gzipped(), truncated_gzip())

    async with post(http, upstream) as response:
        assert (await response.json())["object"] == "chat.completion"
    async with post(http, upstream) as response:
        with pytest.raises((aiohttp.ClientError, ValueError, EOFError)):
            loads(await response.read())


async def test_bytes_can_be_dictated(http, upstream):
    """
    Status, headers and chunks are exactly those of the script.
    """
    upstream.will(raw(418, (("X-Tea", "pot"), ("X-Tea", "cup")), chunks=[b"short", b" and stout"]))

    async with post(http, upstream) as response:
        assert (response.status, response.headers.getall("x-tea")) == (418, ["pot", "cup"])
        assert await response.read() == b"short and stout"


async def test_other_paths_can_fail_too(http, upstream):
    """
    A step may name the path it is for.
    """
    upstream.will(when(status(503), path="/models"))

    statuses = []
    for _ in range(2):
        async with http.get(upstream.url + "/models") as response:
            statuses.append(response.status)

    assert statuses == [503, 200]


async def test_a_delay_comes_before_the_answer(http, upstream):
    """
    An answer is not there before its delay is over.
    """
    loop = asyncio.get_running_loop()
    upstream.will(delay(0.05))
    started = loop.time()

    async with post(http, upstream) as response:
        await response.read()

    assert loop.time() - started >= 0.05


async def test_stopping_lets_go_of_what_hangs(http, upstream):
    """
    A test that leaves a call open does not wait for it.
    """
    upstream.will(hang())
    asking = asyncio.ensure_future(post(http, upstream).__aenter__())
    await upstream.until(lambda: upstream.received)

    await upstream.stop()

    with pytest.raises(aiohttp.ClientError):
        await asking
