"""
Streams reach the client as they come, at its pace, and a broken one never looks whole.
"""

import asyncio
import re

import orjson
import pytest

from proxy.errors import UpstreamUnreachableError
from proxy.upstream.wire import Answer, Prefixed
from tests.support.edge import CHAT, STREAM_HEAD, chunk, plain, says, world

ASK = b'{"model":"m","messages":[],"stream":true}'
ODD = [
    b": OPENROUTER PROCESSING\n\n",
    b'data: {"id":"1"}\r\n\r\n',
    b"event: ping\ndata: {}\n\n",
    b'data: {"choices":[{"delta":{"content":"\xe4\xbd',
    b'\xa0"}}]}\n\n',
    b"retry: 10\nid: 7\n\n",
    b"data: [DONE]\n\n",
]


async def ask_stream(w, target=CHAT, headers=b""):
    client = await w.client()
    await client.send(
        b"POST %b HTTP/1.1\r\nHost: p\r\n%bContent-Length: %d\r\n\r\n%b" % (target.encode(), headers, len(ASK), ASK)
    )
    return client


def stream(*events, end=b"0\r\n\r\n"):
    return says(STREAM_HEAD + b"".join(chunk(event) for event in events) + end)


def error_of(body):
    return orjson.loads(body.rsplit(b"data: ", 1)[1])["error"]


@pytest.mark.parametrize("target", [CHAT, "/v1/responses"])
async def test_passes_a_stream_byte_for_byte(target):
    """
    Comments, CRLF, odd events and a letter split between chunks come through unchanged.
    """
    async with world(stream(*ODD)) as w:
        answer = await (await ask_stream(w, target)).answer()

        assert (answer.body, answer.complete) == (b"".join(ODD), True)


@pytest.mark.parametrize("target", [CHAT, "/v1/responses"])
async def test_relays_each_chunk_when_it_arrives(target):
    """
    The upstream sends the next event only once the client has seen the one before.
    """
    seen = asyncio.Queue()

    async def script(request, reader, writer):
        writer.write(STREAM_HEAD)
        for event in ODD:
            writer.write(chunk(event))
            await writer.drain()
            await seen.get()
        writer.write(b"0\r\n\r\n")

    async with world(script) as w:
        client = await ask_stream(w, target)
        await client.head()
        for event in ODD:
            assert await client.read_until(chunk(event)) == chunk(event)
            seen.put_nowait(None)

        assert await client.read_until(b"0\r\n\r\n") == b"0\r\n\r\n"


async def test_tells_a_broken_event_stream_and_breaks_the_connection():
    """
    The client gets an error event in OpenAI's shape, no [DONE], and no regular end.
    """
    async with world(stream(b'data: {"a":1}\n\n', end=b"")) as w:
        w.upstream.script = _then_close(w.upstream.script)
        client = await ask_stream(w)
        await client.head()
        body = await client.reader.read()

        error = error_of(body.split(b"\r\n0\r\n")[0].rstrip())
        assert (error["code"], b"[DONE]" in body, body.endswith(b"0\r\n\r\n")) == ("upstream_broken", False, False)


async def test_relays_what_came_before_a_stream_broke():
    """
    The last event before the break is not lost.
    """
    async with world(stream(b"data: 1\n\n", b"data: 2\n\n", end=b"")) as w:
        w.upstream.script = _then_close(w.upstream.script)
        client = await ask_stream(w)
        await client.head()

        assert b"data: 2\n\n" in await client.reader.read()


async def test_ends_a_partial_event_before_the_error_event():
    """
    Otherwise the error would be read as the rest of half a line.
    """
    async with world(stream(b'data: {"cho', end=b"")) as w:
        w.upstream.script = _then_close(w.upstream.script)
        client = await ask_stream(w)
        await client.head()

        assert b'{"cho\r\n54\r\n\n\ndata: {' in _any_size(await client.reader.read())


async def test_breaks_a_json_answer_that_came_short():
    """
    A body shorter than its stated length ends with a broken connection and nothing added.
    """
    async with world(_then_close(says(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"half"'))) as w:
        answer = await w.ask("POST", CHAT, body=b"{}")

        assert not answer.complete


async def test_breaks_a_chunked_answer_that_came_short():
    """
    The same without a length: the last chunk does not come.
    """
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with world(_then_close(says(head + chunk(b'{"half"')))) as w:
        answer = await w.ask("POST", CHAT, body=b"{}")

        assert not answer.complete


async def test_resets_the_connection_of_an_old_client_whose_answer_came_short():
    """
    An HTTP/1.0 client takes a plain close for the end of the body.
    """
    async with world(stream(b"data: 1\n\n", end=b"")) as w:
        w.upstream.script = _then_close(w.upstream.script)
        client = await w.client()
        await client.send(b"GET /v1/events HTTP/1.0\r\n\r\n")

        with pytest.raises(ConnectionResetError):
            await client.reader.read()


async def test_serves_an_old_client():
    """
    HTTP/1.0 knows no chunks: the end of the body is the end of the connection.
    """
    async with world(stream(b"data: 1\n\n")) as w:
        client = await w.client()
        await client.send(b"GET /v1/events HTTP/1.0\r\n\r\n")
        answer = await client.answer()

        assert (answer.body, answer.header("connection")) == (b"data: 1\n\n", "close")


async def test_holds_the_upstream_back_while_the_client_does_not_read():
    """
    A slow client fills a few buffers, not the proxy's memory.
    """
    sent = 0

    async def script(request, reader, writer):
        nonlocal sent
        writer.write(STREAM_HEAD)
        for _ in range(400):
            writer.write(chunk(b"x" * 100_000))
            await writer.drain()
            sent += 1

    async with world(script) as w:
        client = await ask_stream(w)
        await w.upstream.arrived.wait()
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.2)
        stalled = sent
        await client.leave()

        assert stalled < 400


async def test_keeps_a_waiting_stream_alive_with_comments():
    """
    While the answer is prepared the client gets comments, then the upstream's own bytes.
    """
    release = asyncio.Event()

    async def script(request, reader, writer):
        await release.wait()
        await stream(b"data: 1\n\n")(request, reader, writer)

    async with world(script, keepalive_after=0.02) as w:
        client = await ask_stream(w)
        head = await client.head()
        for _ in range(2):
            assert await client.read_until(chunk(b": concertina\n\n")) == chunk(b": concertina\n\n")
        release.set()
        rest = await client.read_until(b"0\r\n\r\n")

        assert (head.status, head.header("content-type")) == (200, "text/event-stream; charset=utf-8")
        assert rest.endswith(chunk(b"data: 1\n\n") + b"0\r\n\r\n")


async def _late(answer, **options):
    """
    Return what a streaming client reads when *answer* comes after the first comment.
    """
    release = asyncio.Event()

    class Late:
        async def chat(self, incoming):
            await release.wait()
            return answer()

    async with world(handler=lambda _: Late(), keepalive_after=0.02, **options) as w:
        client = await ask_stream(w)
        await client.head()
        await client.read_until(b": concertina\n\n\r\n")
        release.set()
        return await client.read_until(b"\r\n0\r\n\r\n")


async def test_turns_a_late_error_into_an_event_with_status_code_and_message():
    """
    The status line is gone, so the error event carries it; the stream then ends regularly.
    """
    body = b'{"error":{"message":"slow down","type":"rate","code":"rate_limit_exceeded"}}'
    raw = await _late(lambda: Answer.of_bytes(429, (), body))

    error = error_of(raw.split(b"\r\n0\r\n")[0].strip())
    assert (error["status"], error["code"], error["message"]) == (429, "rate_limit_exceeded", "slow down")


async def test_turns_a_late_error_that_is_no_json_into_an_event():
    """
    A gateway's HTML is at least quoted.
    """
    raw = await _late(lambda: Answer.of_bytes(413, (), b"<html>too large"))

    error = error_of(raw.split(b"\r\n0\r\n")[0].strip())
    assert (error["status"], error["code"], error["message"]) == (413, "413", "<html>too large")


async def test_turns_a_late_failure_of_the_upstream_into_an_event():
    """
    An upstream that turns out to be down is told in the stream, too.
    """

    def fail():
        raise UpstreamUnreachableError("up", "no connection could be made")

    error = error_of((await _late(fail)).split(b"\r\n0\r\n")[0].strip())

    assert (error["status"], error["code"]) == (502, "upstream_unreachable")


async def test_wraps_a_late_answer_that_is_no_stream():
    """
    An upstream that ignored stream:true still ends in one data event.
    """
    json = (("content-type", "application/json"),)
    raw = await _late(lambda: Answer(200, "OK", json, Prefixed([b'{"id":\n', b"1}"])))

    assert b'data: {"id": 1}\n\ndata: [DONE]\n\n' in raw


async def test_writes_no_comments_for_a_client_that_asked_for_no_stream():
    """
    A JSON answer cannot begin with a comment.
    """
    release = asyncio.Event()

    async def script(request, reader, writer):
        await release.wait()
        await plain(b'{"ok":1}')(request, reader, writer)

    async with world(script, keepalive_after=0.01) as w:
        client = await w.client()
        await client.send(b"POST %b HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\n{}" % CHAT.encode())
        await w.upstream.arrived.wait()
        await asyncio.sleep(0.05)
        release.set()

        assert (await client.answer()).body == b'{"ok":1}'


def _any_size(raw):
    return re.sub(rb"\r\n[0-9a-f]+\r\n", b"\r\n54\r\n", raw)


def _then_close(script):
    async def closing(request, reader, writer):
        await script(request, reader, writer)
        writer.close()

    return closing
