"""
An upstream that says what cannot be, or never stops: it costs the others nothing, and what it says teaches nothing.
"""

import asyncio
import re
from typing import Any

import pytest

from proxy.chat.json import dumps, loads
from proxy.pipeline.examine import MOST_BODY, MOST_REFUSAL
from proxy.recovery.normalise import normalise
from tests.support.conversations import chat_session
from tests.support.edge import RawClient, Received, chunk, plain, read_chunked
from tests.support.whole import Whole, whole

ROWS = chat_session(13)
REQUEST = {"model": "m", "messages": ROWS}
OVERFLOW = {"error": {"message": "This model's maximum context length is 4000 tokens.", "code": "x"}}
ANSWER = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
ABSURD = ["0", "-5", "1e30", "1e400", "NaN", "123456789012345678901234567890", "90000000", '"12"', "true", "{}"]


def answers(prompt_tokens: str) -> bytes:
    return dumps(ANSWER)[:-1] + b',"usage":{"prompt_tokens":%s,"completion_tokens":1}}' % prompt_tokens.encode()


async def ask(w: Whole, body: Any = REQUEST) -> Any:
    client: RawClient = await w.client()
    headers = b"Content-Type: application/json\r\nAuthorization: Bearer k\r\n"
    return await client.ask("POST", "/v1/chat/completions", headers=headers, body=dumps(body))


@pytest.mark.parametrize("status", [b"400 Bad Request", b"500 Oops", b"200 OK"])
async def test_an_answer_without_end_is_relayed_and_not_gathered(proxy_factory: Any, status: bytes) -> None:
    """
    The client has read the first of it while the upstream still writes.
    """
    half_read = asyncio.Event()
    piece = b" " * 65_536
    before = MOST_BODY if status.startswith(b"2") else MOST_REFUSAL

    async def script(_: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 " + status + b"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(before // len(piece) + 2):
            writer.write(chunk(piece))
            await writer.drain()
        await half_read.wait()
        writer.write(chunk(b"the end") + b"0\r\n\r\n")

    async with whole(proxy_factory, script) as w:
        client = await w.client()
        asked = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(dumps(REQUEST))
        await client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: p\r\n" + asked + dumps(REQUEST))
        head = await asyncio.wait_for(client.head(), 20)
        half_read.set()
        answered = await asyncio.wait_for(read_chunked(client.reader), 20)

    assert head.status == int(status[:3])
    assert len(answered) >= before
    assert answered.endswith(b" the end")


@pytest.mark.parametrize("noise", ["9" * 60_000, "1," * 1_400, "1." * 1_400, "maximum context length " + "9" * 2_900])
def test_patterns_get_no_number_that_is_none(noise: str) -> None:
    """
    They try every part of it, which would hold up every stream for seconds.
    """
    for body in (noise.encode(), dumps({"error": {"message": noise}})):
        assert re.search(r"\d[\d,._]{19,}", normalise(body).text) is None


@pytest.mark.parametrize("limit", ["9" * 400, "9" * 5_000])
async def test_a_limit_beyond_all_numbers_does_not_hide_the_refusal(proxy_factory: Any, limit: str) -> None:
    """
    The history is compacted and sent again, as for a refusal without a number.
    """
    told = OVERFLOW["error"]["message"].replace("4000", limit)

    async def script(received: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        large = len(received.body) > 10_000
        refusal = plain(dumps({"error": {"message": told}}), status="400 Bad Request")
        await (refusal if large else plain(answers("900")))(received, reader, writer)

    async with whole(proxy_factory, script, compaction={"summarizer": {"kind": "extractive"}}) as w:
        answered = await ask(w)

    assert (answered.status, len(w.upstream.received) > 1) == (200, True)


@pytest.mark.parametrize("counted", ABSURD)
async def test_a_count_that_cannot_be_changes_no_later_request(proxy_factory: Any, counted: str) -> None:
    """
    The next one, far below its threshold, goes out as it came, and is not taken for larger or smaller than it is.
    """

    async def script(received: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        headers = b"Content-Type: application/json\r\n"
        await plain(answers(counted), headers=headers)(received, reader, writer)

    # Other conversations, as one that goes on need not be counted again.
    begun = [{"model": "m", "messages": [{"role": "system", "content": f"{n}"}, *ROWS]} for n in range(3)]
    settings = {"kind": "extractive"}
    async with whole(proxy_factory, script, compaction={"threshold_tokens": 60_000, "summarizer": settings}) as w:
        answered = [await ask(w, body) for body in begun]

    assert [loads(r.body) for r in w.upstream.received] == begun
    sizes = {int(a.header("x-concertina-tokens").partition("=")[2].partition(";")[0]) for a in answered}
    assert max(sizes) < 2 * min(sizes)


async def test_an_absurd_count_in_a_stream_costs_none_of_its_bytes(proxy_factory: Any) -> None:
    """
    Where usage is taken out again, a frame that comes in two pieces and cannot be read is relayed or left out whole.
    """
    said = b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}\n\n'
    usage = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1e400}}\n\n'
    done = b"data: [DONE]\n\n"

    async def script(_: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in (said, usage[:40], usage[40:], done):
            writer.write(chunk(piece))
            await writer.drain()
            await asyncio.sleep(0.02)
        writer.write(b"0\r\n\r\n")

    async with whole(proxy_factory, script, compaction={"ask_usage": "always"}) as w:
        answered = await ask(w, {**REQUEST, "stream": True})

    assert answered.body == said + usage + done


@pytest.mark.parametrize("kind", ["", "text/plain", "text/html", "application/octet-stream"])
async def test_a_refusal_in_a_200_is_known_whatever_it_calls_itself(proxy_factory: Any, kind: str) -> None:
    """
    A short body of stated length is looked at; the history is compacted and sent again.
    """

    async def script(received: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        headers = f"Content-Type: {kind}\r\n".encode()
        refusal = plain(dumps(OVERFLOW), headers=headers)
        await (refusal if len(w.upstream.received) == 1 else plain(answers("900")))(received, reader, writer)

    async with whole(proxy_factory, script, compaction={"summarizer": {"kind": "extractive"}}) as w:
        answered = await ask(w)

    assert (loads(answered.body)["choices"], len(w.upstream.received)) == (ANSWER["choices"], 2)


async def test_stream_options_that_are_none_stay_as_they_are(proxy_factory: Any) -> None:
    """
    What we do not understand we do not replace.
    """
    body = {**REQUEST, "stream": True, "stream_options": "odd"}
    async with whole(proxy_factory, plain(answers("900")), compaction={"ask_usage": "always"}) as w:
        await ask(w, body)

    assert [loads(r.body) for r in w.upstream.received] == [body]


async def test_a_model_name_that_cannot_be_encoded_does_not_end_the_metrics(world_factory: Any) -> None:
    """
    A lone surrogate from one client must not break every scrape from then on.
    """
    world = await world_factory(sim={"strict": False})
    answered = await world.proxied.post(
        dumps({"model": "MODEL", "messages": ROWS}).replace(b"MODEL", b"odd\\ud800<script>"),
    )
    text = await world.proxied.proxy.admin.metrics()

    assert answered.status == 200
    assert "odd?" in text.encode().decode()


@pytest.mark.parametrize(
    ("offered", "passed"),
    [
        ("gzip, deflate", "gzip, deflate"),
        ("gzip;q=1.0,  deflate;q=0.5", "gzip;q=1.0,  deflate;q=0.5"),
        ("br, gzip;q=0.8, zstd", "gzip;q=0.8"),
        ("br", "identity"),
        ("*", "identity"),
    ],
)
async def test_only_codings_that_we_can_read_are_offered(proxy_factory: Any, offered: str, passed: str) -> None:
    """
    A refusal in any other could not be recovered from; where nothing would be recovered, all are offered.
    """
    headers = f"Content-Type: application/json\r\nAccept-Encoding: {offered}\r\n".encode()
    async with whole(proxy_factory, plain(answers("900"))) as w:
        for mode in (b"", b"x-concertina-mode: off\r\n"):
            client = await w.client()
            await client.ask("POST", "/v1/chat/completions", headers=headers + mode, body=dumps(REQUEST))
        told = [dict(received.headers)["Accept-Encoding"] for received in w.upstream.received]

    assert told == [passed, offered]
