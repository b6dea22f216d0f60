"""
Streams through the whole pipeline: peeked at, read along, and still the upstream's own bytes at its own pace.
"""

import asyncio
from typing import Any

import pytest

from proxy.chat.json import dumps
from tests.support.conversations import chat_session
from tests.support.edge import STREAM_HEAD, chunk, says
from tests.support.whole import whole

ASK = b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}'
LONG = {"upstream": {"context_window": 8_000}, "compaction": {"threshold_tokens": 6_000, "prepare_at": None}}
EXTRACTIVE = {**LONG, "compaction": {**LONG["compaction"], "summarizer": {"kind": "extractive"}}}
END = b"data: [DONE]\n\n"


def delta(text: str) -> bytes:
    return b"data: " + dumps({"choices": [{"index": 0, "delta": {"content": text}}]}) + b"\n\n"


STREAMS = {
    "comments": [b": OPENROUTER PROCESSING\n\n", b":\n\n", delta("a"), b": again\n\n", delta("b"), END],
    "crlf": [delta("a").replace(b"\n", b"\r\n"), delta("b").replace(b"\n", b"\r\n"), END.replace(b"\n", b"\r\n")],
    "cr": [delta("a").replace(b"\n", b"\r"), END.replace(b"\n", b"\r")],
    "no choices": [
        b'data: {"prompt_filter_results":[]}\n\n',
        b'data: {"choices":[],"usage":null}\n\n',
        delta("a"),
        END,
    ],
    "empty objects": [b"data: {}\n\n", b"event: ping\ndata: {}\n\n", delta("a"), END],
    "named events": [b"event: message\n" + delta("a"), b"id: 7\nretry: 10\n" + delta("b"), b"event: done\n" + END],
    "multi-line data": [b'data: {"choices":[{"delta":\ndata: {"content":"a"}}]}\n\n', END],
    "no blank after the colon": [delta("a").replace(b"data: ", b"data:"), END],
    "split letter": [delta("\u4f60")[:-14], delta("\u4f60")[-14:-13], delta("\u4f60")[-13:], END],
    "no JSON": [b"data: hello\n\n", b"data: \xff\xfe\n\n", END],
    "unknown fields": [b'data: {"choices":[{"delta":{"x_new":[1e400,NaN]},"y":"z"}],"provider":"p"}\n\n', END],
    "calls in parallel, mixed and all of index 0": [
        b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\\"x"}}]}}]}\n\n',
        b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{\\"y"}}]}}]}\n\n',
        b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\\":1}"}}]}}]}\n\n',
        b'data: {"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"\\":2}"}}]}}]}\n\n',
        END,
    ],
    "no end": [delta("a"), b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'],
    "half an event at the end": [delta("a"), b'data: {"cho'],
    "after the end": [delta("a"), END, b": bye\n\n", b"data: more\n\n"],
    "byte order mark": [b"\xef\xbb\xbf" + delta("a"), END],
    "a frame of a megabyte": [delta("a"), delta("x" * 1_000_000), END],
    "a first frame of a megabyte": [delta("x" * 1_000_000), END],
    "one line of sixteen megabytes": [delta("a"), b"data: " + b"x" * (16 << 20) + b"\n\n", END],
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("compacted", [False, True], ids=["untouched", "compacted"])
async def test_a_stream_keeps_its_bytes(proxy_factory: Any, name: str, compacted: bool) -> None:
    """
    Whatever events it is made of; in a request that was compacted as well.
    """
    events = STREAMS[name]
    raw = STREAM_HEAD + b"".join(chunk(event) for event in events) + b"0\r\n\r\n"
    body = dumps({"model": "m", "messages": chat_session(13), "stream": True}) if compacted else ASK
    async with whole(proxy_factory, says(raw), **EXTRACTIVE) as w:
        answer = await w.post(body)

        assert (answer.status, answer.complete) == (200, True)
        assert answer.body == b"".join(events)
        assert len(w.upstream.received) == 1
        assert answer.header("x-concertina-action") == ("compacted" if compacted else "passthrough")


@pytest.mark.parametrize("size", [1, 7, 100])
async def test_chunk_boundaries_mean_nothing(proxy_factory: Any, size: int) -> None:
    """
    The same stream in chunks of a few bytes, each an own packet.
    """
    stream = b"".join(b"".join(STREAMS[name]) for name in ("comments", "crlf", "split letter"))

    async def script(request: Any, reader: Any, writer: Any) -> None:
        writer.write(STREAM_HEAD)
        for start in range(0, len(stream), size):
            writer.write(chunk(stream[start : start + size]))
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")

    async with whole(proxy_factory, script) as w:
        assert (await w.post(ASK)).body == stream


async def test_each_event_is_relayed_when_it_arrives(proxy_factory: Any) -> None:
    """
    The upstream sends the next event only once the client has read the one before.
    """
    seen: asyncio.Queue[None] = asyncio.Queue()
    events = [delta(str(number)) for number in range(20)]

    async def script(request: Any, reader: Any, writer: Any) -> None:
        writer.write(STREAM_HEAD)
        for event in events:
            writer.write(chunk(event))
            await writer.drain()
            await seen.get()
        writer.write(b"0\r\n\r\n")

    async with whole(proxy_factory, script) as w:
        client = await w.send(ASK)
        await client.head()
        for event in events:
            assert await client.read_until(event + b"\r\n") == chunk(event)
            seen.put_nowait(None)


@pytest.mark.parametrize("reset", [False, True])
async def test_an_upstream_that_dies_in_a_stream_never_ends_it_cleanly(proxy_factory: Any, reset: bool) -> None:
    """
    What had come is relayed, then an error event, no [DONE], and a broken connection.
    """

    async def script(request: Any, reader: Any, writer: Any) -> None:
        writer.write(STREAM_HEAD + chunk(delta("a")))
        await writer.drain()
        await asyncio.sleep(0.02)
        if reset:
            writer.transport.abort()
        writer.close()

    async with whole(proxy_factory, script) as w:
        client = await w.send(ASK)
        await client.head()
        raw = await client.reader.read()

        assert delta("a") in raw
        assert b'"code":"upstream_broken"' in raw
        assert (b"[DONE]" in raw, raw.endswith(b"0\r\n\r\n"), len(w.upstream.received)) == (False, False, 1)


@pytest.mark.slow
async def test_a_slow_reader_holds_the_upstream_back(proxy_factory: Any) -> None:
    """
    Of 100 MB only what the sockets hold is taken while the client does not read; then it gets every byte.
    """
    sent = 0
    event = delta("x" * 100_000)

    async def script(request: Any, reader: Any, writer: Any) -> None:
        nonlocal sent
        writer.write(STREAM_HEAD)
        for _ in range(1_000):
            writer.write(chunk(event))
            await writer.drain()
            sent += 1
        writer.write(b"0\r\n\r\n")

    async with whole(proxy_factory, script) as w:
        client = await w.send(ASK)
        await client.head()
        client.reader._transport.pause_reading()  # type: ignore[attr-defined]
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.3)
        stalled = sent
        client.reader._transport.resume_reading()  # type: ignore[attr-defined]
        read = 0
        while size := int(await client.reader.readline(), 16):
            read += len(await client.reader.readexactly(size + 2)) - 2

        assert stalled * len(event) < 40_000_000
        assert (sent, read) == (1_000, 1_000 * len(event))


async def test_comments_without_end_are_not_held_back_for_ever(proxy_factory: Any) -> None:
    """
    A stream that says nothing for megabytes is relayed, not kept in memory.
    """
    comment = b": " + b"." * 100_000 + b"\n\n"
    release = asyncio.Event()

    async def script(request: Any, reader: Any, writer: Any) -> None:
        writer.write(STREAM_HEAD)
        for _ in range(30):
            writer.write(chunk(comment))
            await writer.drain()
        await release.wait()
        writer.write(chunk(delta("a")) + chunk(END) + b"0\r\n\r\n")

    async with whole(proxy_factory, script) as w:
        client = await w.send(ASK)
        head = await client.head()
        await client.reader.readexactly(1_000_000)
        release.set()

        assert head.status == 200
