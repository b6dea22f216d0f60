"""
A client that leaves the whole proxy, at every stage of an exchange: within a second its upstream call is gone, too.
"""

import asyncio
import gc
from typing import Any

import pytest

from proxy.chat.json import dumps, loads
from proxy.upstream.wire import Incoming
from tests.support.conversations import chat_session
from tests.support.edge import STREAM_HEAD, chunk, plain
from tests.support.whole import Whole, whole

SMALL = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
LARGE = {"model": "m", "messages": chat_session(13)}
LONG = {"upstream": {"context_window": 8_000}, "compaction": {"threshold_tokens": 6_000, "prepare_at": None}}
OVERFLOW = b'{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}'
JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


async def silent(request: Any, reader: Any, writer: Any) -> None:
    await reader.read()


async def half_an_answer(request: Any, reader: Any, writer: Any) -> None:
    writer.write(JSON + chunk(b'{"choices":['))
    await writer.drain()
    await reader.read()


async def only_comments(request: Any, reader: Any, writer: Any) -> None:
    writer.write(STREAM_HEAD + chunk(b": wait\n\n"))
    await writer.drain()
    await reader.read()


async def half_a_stream(request: Any, reader: Any, writer: Any) -> None:
    writer.write(STREAM_HEAD + chunk(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'))
    await writer.drain()
    await reader.read()


async def breaks_off(request: Any, reader: Any, writer: Any) -> None:
    writer.write(STREAM_HEAD + chunk(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'))
    await writer.drain()
    writer.close()


async def done_and_silent(request: Any, reader: Any, writer: Any) -> None:
    writer.write(STREAM_HEAD + chunk(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n'))
    await writer.drain()
    await reader.read()


async def refuses_then_is_silent(request: Any, reader: Any, writer: Any) -> None:
    if len(loads(request.body)["messages"]) == len(LARGE["messages"]):
        await plain(OVERFLOW, status="400 Bad Request", headers=b"Content-Type: application/json\r\n")(
            request, reader, writer
        )
    else:
        await reader.read()


async def refuses_in_a_stream_that_stays_open(request: Any, reader: Any, writer: Any) -> None:
    if b'"stream":true' in request.body:
        writer.write(STREAM_HEAD + chunk(b"data: " + OVERFLOW + b"\n\n"))
        await writer.drain()
    await reader.read()


async def gone(w: Whole, *, connections: int) -> None:
    """
    Wait, for a second at most, until nothing of the exchange is left on either side.
    """
    try:
        async with asyncio.timeout(1):
            while w.inflight or w.tasks > 2 or len(w.upstream._tasks) > connections:
                await asyncio.sleep(0.005)
    except TimeoutError:
        pytest.fail(f"{w.inflight} in flight, {w.running} and {len(w.upstream._tasks)} connections are left")


STAGES = {
    "waiting for a json answer": (silent, SMALL, {}),
    "waiting for a stream": (silent, {**SMALL, "stream": True}, {}),
    "in the middle of a json answer": (half_an_answer, SMALL, {}),
    "while a stream is held back": (only_comments, {**SMALL, "stream": True}, {}),
    "in the middle of a stream": (half_a_stream, {**SMALL, "stream": True}, {}),
    "while a summary is written": (silent, LARGE, LONG),
    "while a summary for a stream is written": (silent, {**LARGE, "stream": True}, LONG),
    "while a summary is written after a refusal": (refuses_in_a_stream_that_stays_open, {**LARGE, "stream": True}, {}),
    "while a second try runs": (
        refuses_then_is_silent,
        LARGE,
        {"compaction": {"summarizer": {"kind": "extractive"}}},
    ),
}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("hard", [False, True], ids=["closed", "reset"])
async def test_a_client_that_leaves_takes_its_call_along(proxy_factory: Any, stage: str, hard: bool) -> None:
    """
    Its upstream call ends within a second, and neither a request in flight, a task nor a connection is left.
    """
    script, body, settings = STAGES[stage]
    async with whole(proxy_factory, script, **settings) as w:
        client = await w.send(dumps(body))
        await w.upstream.arrived.wait()
        await asyncio.sleep(0.05)
        if stage in {"while a second try runs", "while a summary is written after a refusal"}:
            while len(w.upstream.received) < 2:
                await asyncio.sleep(0.01)
        if hard:
            client.writer.transport.abort()
        else:
            await client.leave()

        await gone(w, connections=0 if stage != "while a second try runs" else 1)
        assert w.inflight == 0


async def test_a_summary_that_another_client_waits_for_goes_on(proxy_factory: Any) -> None:
    """
    Two clients want the same summary: the first leaves, the second gets its answer, of one summary.
    """
    release = asyncio.Event()
    asked = []

    async def script(request: Any, reader: Any, writer: Any) -> None:
        rows = loads(request.body)["messages"]
        asked.append(rows)
        if len(asked) == 1:
            await release.wait()
        text = "## Goal\nKeep the parser working; its tests pass."
        body = dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]})
        await plain(body, headers=b"Content-Type: application/json\r\n")(request, reader, writer)

    async with whole(proxy_factory, script, **LONG) as w:
        first = await w.send(dumps(LARGE))
        await w.upstream.arrived.wait()
        second = await w.send(dumps(LARGE))
        while w.inflight < 2:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        await first.leave()
        while w.inflight > 1:
            await asyncio.sleep(0.01)
        release.set()
        answer = await second.answer()

        assert (answer.status, answer.header("x-concertina-action"), len(asked)) == (200, "compacted", 2)
        assert "Keep the parser working" in dumps(asked[1]).decode()


async def test_a_conversation_is_compacted_after_somebody_left_in_the_middle(proxy_factory: Any) -> None:
    """
    No lease, no half-made record stands in the way of the next request.
    """
    calls = 0

    async def script(request: Any, reader: Any, writer: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            await reader.read()
            return
        text = "## Goal\nKeep the parser working; its tests pass."
        body = dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]})
        await plain(body, headers=b"Content-Type: application/json\r\n")(request, reader, writer)

    async with whole(proxy_factory, script, **LONG) as w:
        client = await w.send(dumps(LARGE))
        await w.upstream.arrived.wait()
        await client.leave()
        await gone(w, connections=0)
        answer = await asyncio.wait_for(w.post(dumps(LARGE)), 5)

        assert (answer.status, answer.header("x-concertina-action"), calls) == (200, "compacted", 3)


@pytest.mark.slow
async def test_two_hundred_departures_leave_nothing(proxy_factory: Any) -> None:
    """
    Neither tasks, nor connections, nor requests in flight; memory is the soak's business.
    """
    async with whole(proxy_factory, half_a_stream) as w:
        tasks = len(asyncio.all_tasks())
        for number in range(200):
            client = await w.send(dumps({**SMALL, "stream": bool(number % 2)}))
            if number % 3:
                await client.head() if number % 2 else await asyncio.sleep(0)
            client.writer.transport.abort()
        await gone(w, connections=0)
        gc.collect()

        assert len(asyncio.all_tasks()) <= tasks + 1


ENDINGS = {
    "in the middle of a stream": (half_a_stream, "client-left"),
    "in a stream that breaks": (breaks_off, "upstream-failed"),
}


@pytest.mark.parametrize("stage", ENDINGS)
async def test_a_stream_that_did_not_end_is_told_so(proxy_factory: Any, stage: str) -> None:
    """
    The event says whose doing it was, though the status line had left long before.
    """
    script, ended = ENDINGS[stage]
    async with whole(proxy_factory, script) as w:
        client = await w.send(dumps({**SMALL, "stream": True}))
        await client.read_until(b'"a"')
        if ended == "client-left":
            await client.leave()
        await gone(w, connections=0)
        (event,) = w.proxied.proxy.core.journal.recent(5)

    assert (event["ended"], event["status"]) == (ended, 200)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_never_reads_has_left(proxy_factory: Any, stream: bool) -> None:
    """
    Nothing of its exchange stays, and the event says whose doing it was.
    """

    async def pours(request: Any, reader: Any, writer: Any) -> None:
        writer.write(STREAM_HEAD if stream else JSON)
        while True:
            writer.write(chunk(b'data: {"choices":[{"delta":{"content":"%b"}}]}\n\n' % (b"a" * 60_000)))
            await writer.drain()

    async with whole(proxy_factory, pours, limits={"send_timeout": 0.2}) as w:
        client = await w.send(dumps({**SMALL, "stream": stream}))
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await w.upstream.arrived.wait()
        async with asyncio.timeout(20):
            while w.inflight or w.upstream._tasks:
                await asyncio.sleep(0.01)
        (event,) = w.proxied.proxy.core.journal.recent(5)

    assert (event["ended"], event["status"]) == ("client-left", 200)


async def test_a_client_that_leaves_after_the_end_had_its_answer(proxy_factory: Any) -> None:
    """
    Many close the connection as soon as they have read ``[DONE]``.
    """
    async with whole(proxy_factory, done_and_silent) as w:
        client = await w.send(dumps({**SMALL, "stream": True}))
        await client.read_until(b"[DONE]")
        await client.leave()
        await gone(w, connections=0)
        (event,) = w.proxied.proxy.core.journal.recent(5)

    assert "ended" not in event


async def test_a_stream_that_nobody_reads_is_an_exchange_too(proxy_factory: Any) -> None:
    """
    Its client left when the headers had come, and before the first chunk was asked for.
    """
    async with whole(proxy_factory, half_a_stream) as w:
        body = dumps({**SMALL, "stream": True})
        answer = await w.proxied.proxy.edge._handler.chat(Incoming("POST", "/v1/chat/completions", (), body))
        answer.close()
        await gone(w, connections=0)
        told = w.proxied.proxy.core.journal.recent(5)

    assert [(event["ended"], event["status"]) for event in told] == [("client-left", 200)]
