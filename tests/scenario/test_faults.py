"""
Whatever an upstream or a client does wrong: a clear failure for the one exchange, and nothing for all others.
"""

import asyncio
import time
from typing import Any

import pytest

from proxy.chat.json import dumps
from proxy.simulator.steps import when
from tests.support.conversations import chat_session, user
from tests.support.edge import CHAT, Answered, plain
from tests.support.faults import UPSTREAM, verdict
from tests.support.whole import Whole, beside, whole

SMALL = {"model": "sim-model", "messages": [{"role": "user", "content": "hi"}]}
LARGE = {"model": "sim-model", "messages": chat_session(13)}
TOLD: dict[str, set[str]] = {
    "reset at once": {"refused"},
    "reset in the middle": {"refused", "broken"},
    "closed in the middle": {"refused", "broken"},
    "half closed": {"refused", "broken"},
    "malformed chunking": {"refused", "broken"},
    "too short a body": {"refused", "broken"},
    "more headers than anybody reads": {"refused"},
    "a header of a megabyte": {"refused"},
    "an error page": {"passed"},
    "a status of its own": {"passed"},
    "an error with no body": {"passed"},
    "a late status 500": {"refused"},
}
"""What a client may be told of each fault; of those not named here it gets the upstream's answer."""


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["small", "compacted"])
@pytest.mark.parametrize("fault", UPSTREAM)
async def test_a_fault_of_the_upstream_stays_with_its_exchange(
    world_factory: Any, fault: str, body: dict[str, Any], stream: bool
) -> None:
    """
    The client gets the answer, an error, or a broken connection; the next request is answered as ever.
    """
    world = await world_factory(sim={"strict": False}, recovery={"deadline": 5})
    world.upstream.will(UPSTREAM[fault]())
    async with beside(world.proxied) as w:
        answer = await asyncio.wait_for(w.post(dumps({**body, "stream": stream})), 20)
        told = verdict(answer)
        after = await w.post(dumps(SMALL))

    assert told in TOLD.get(fault, {"answered"}), answer
    assert len(world.upstream.main_calls) <= 3
    assert (verdict(after), after.status) == ("answered", 200)


@pytest.mark.parametrize("fault", UPSTREAM)
async def test_a_fault_of_the_summariser_is_nobodys_fault(world_factory: Any, fault: str) -> None:
    """
    Whatever the summary call meets, the request is compacted and answered.
    """
    world = await world_factory(sim={"strict": False}, compaction={"summarizer": {"wait": 2, "timeout": 2}})
    world.upstream.will(when(UPSTREAM[fault](), summary=True), when(UPSTREAM[fault](), summary=True))
    reply = await world.post(LARGE)

    assert (reply.status, reply.action) == (200, "compacted")


@pytest.mark.parametrize("fault", UPSTREAM)
async def test_a_fault_on_any_other_path_stays_with_its_exchange(world_factory: Any, fault: str) -> None:
    """
    What is only forwarded fails as clearly.
    """
    world = await world_factory(sim={"strict": False})
    world.upstream.will(when(UPSTREAM[fault](), path="/responses"))
    async with beside(world.proxied) as w:
        answer = await asyncio.wait_for(w.post(dumps({"model": "m", "input": "x"}), target="/v1/responses"), 20)

    assert verdict(answer) in TOLD.get(fault, {"answered"})


async def still_well(w: Whole) -> bool:
    """
    Tell whether an honest client is served, and whether nothing of the others is left.
    """
    answer = await w.post(dumps(SMALL))
    async with asyncio.timeout(5):
        while w.inflight:
            await asyncio.sleep(0.01)
    return answer.status == 200 and answer.complete


def head(*lines: bytes, method: bytes = b"POST") -> bytes:
    return b"\r\n".join((method + b" " + CHAT.encode() + b" HTTP/1.1", b"Host: p", *lines, b"", b""))


CLIENTS: dict[str, tuple[bytes, int | None]] = {
    "half a head": (b"POST /v1/chat/comp", None),
    "half a body": (head(b"Content-Length: 100") + b"{", None),
    "a chunk whose size is no number": (head(b"Transfer-Encoding: chunked") + b"zz\r\n{}\r\n0\r\n\r\n", 400),
    "a chunk that is longer than it says": (head(b"Transfer-Encoding: chunked") + b"2\r\n{}{}\r\n0\r\n\r\n", 400),
    "chunks without end": (head(b"Transfer-Encoding: chunked") + b"2\r\n{}\r\n", None),
    "a length that is none": (head(b"Content-Length: many") + b"{}", 400),
    "a length of a terabyte": (head(b"Content-Length: 1099511627776") + b"{}", 413),
    "a header bomb": (head(*(b"X-%d: y" % number for number in range(5_000)), b"Content-Length: 2") + b"{}", 431),
    "one header of a megabyte": (head(b"X: " + b"y" * 1_000_000, b"Content-Length: 2") + b"{}", 431),
    "a target of 100 KB": (b"GET /v1/" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: p\r\n\r\n", 431),
    "TLS on a plain port": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), 400),
    "HTTP/2 without asking": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "nothing but line breaks": (b"\r\n" * 1_000, None),
    "no host": (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 400),
}


@pytest.mark.parametrize("fault", CLIENTS)
@pytest.mark.parametrize("leave", ["reset", "half closed", "closed"])
async def test_a_broken_client_harms_nobody(proxy_factory: Any, fault: str, leave: str) -> None:
    """
    It is refused, or leaves; what it leaves behind is cleared away.
    """
    raw, status = CLIENTS[fault]
    async with whole(proxy_factory) as w:
        client = await w.client()
        await client.send(raw)
        if status is not None:
            assert (await client.head()).status == status
        if leave == "reset":
            client.writer.transport.abort()
        elif leave == "half closed" and status is None:
            client.writer.write_eof()
        else:
            client.writer.close()

        assert await still_well(w)


async def test_clients_that_write_a_byte_at_a_time_hold_nobody_up(proxy_factory: Any) -> None:
    """
    Slow loris: fifty of them stay at their heads, and are dropped when their time is over; an honest one is served.
    """
    async with whole(proxy_factory, limits={"header_timeout": 0.5}) as w:
        slow = [await w.client() for _ in range(50)]
        for byte in head(b"Content-Length: 2")[:20]:
            for client in slow:
                client.writer.write(bytes([byte]))
        assert await still_well(w)
        ends = await asyncio.gather(*(asyncio.wait_for(client.reader.read(), 5) for client in slow))

        assert set(ends) == {b""}
        assert w.upstream.received[0].body == dumps(SMALL)


async def test_a_proxy_that_was_busy_blames_no_client(proxy_factory: Any) -> None:
    """
    The time for heads ran out while the loop stood still: a head that had come by then is read all the same.
    """
    async with whole(proxy_factory, limits={"header_timeout": 0.1}) as w:
        client = await w.client()
        await asyncio.sleep(0.05)
        body = dumps(SMALL)
        client.writer.write(head(b"Content-Length: %d" % len(body)) + body)
        time.sleep(0.3)  # everything stands still, the timer included

        assert (await client.answer()).status == 200


async def test_a_body_that_comes_a_byte_at_a_time_is_waited_for(proxy_factory: Any) -> None:
    """
    Uploads may be slow; only heads have a deadline, and silence within a body.
    """
    body = dumps(SMALL)
    async with whole(proxy_factory, limits={"header_timeout": 0.2}) as w:
        client = await w.client()
        await client.send(head(b"Content-Length: %d" % len(body)))
        for byte in body:
            await client.send(bytes([byte]))
            await asyncio.sleep(0.006)

        assert (await client.answer()).status == 200
        assert w.upstream.received[0].body == body


async def test_bodies_that_fall_silent_give_their_places_up(proxy_factory: Any) -> None:
    """
    Clients that never finish fill what may be in flight, but not for ever.
    """
    async with whole(proxy_factory, limits={"header_timeout": 0.2, "inflight": 5}) as w:
        silent = [await w.client() for _ in range(5)]
        for client in silent:
            await client.send(head(b"Content-Length: 1000") + b"{")
        while w.proxied.proxy.edge.inflight < 5:
            await asyncio.sleep(0.01)
        refused = await w.post(dumps(SMALL))
        told = [await asyncio.wait_for(client.answer(), 5) for client in silent]

        assert (refused.status, {(one.status, b"body_timeout" in one.body) for one in told}) == (503, {(408, True)})
        assert await still_well(w)


async def post(w: Whole, body: bytes) -> Answered:
    """
    Post one body and give the loop its time.
    """
    return await asyncio.wait_for(w.post(body), 120)


@pytest.mark.slow
async def test_a_body_of_64_megabytes_passes(proxy_factory: Any) -> None:
    """
    Exactly at the limit, byte for byte; one byte more is refused.
    """
    start = b'{"model":"m","messages":[{"role":"user","content":"'
    fill = 64 * 1024 * 1024 - len(start) - 4
    body = start + b"x" * fill + b'"}]}'
    async with whole(proxy_factory, compaction={"mode": "recover"}) as w:
        first = await post(w, body)
        second = await post(w, body + b" ")

        assert (first.status, second.status, len(w.upstream.received)) == (200, 413, 1)
        assert w.upstream.received[0].body == body


@pytest.mark.slow
async def test_a_hundred_thousand_messages_are_dealt_with(world_factory: Any) -> None:
    """
    An absurd history is compacted or refused, and others are served meanwhile.
    """
    rows = [
        user(f"n{number}") if number % 2 == 0 else {"role": "assistant", "content": "k"} for number in range(99_999)
    ]
    world = await world_factory(sim={"strict": False}, compaction={"summarizer": {"kind": "extractive"}})
    async with beside(world.proxied) as w:
        large = asyncio.ensure_future(post(w, dumps({**SMALL, "messages": rows})))
        await asyncio.sleep(0.5)
        beside_it = await post(w, dumps(SMALL))
        answer = await large

    assert beside_it.status == 200
    assert (answer.status, verdict(answer)) in {(200, "answered"), (400, "refused")}


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"m","messages":[{"role":"user","content":' + b"[" * 200 + b"]" * 200 + b"}]}",
        b'{"a":' * 200 + b"1" + b"}" * 200,
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"seed":' + b"9" * 10_000 + b"}",
        b'{"model":"m","messages":[{"role":"user","content":"x","content":"y"}],"messages":[]}',
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":NaN,"top_p":-Infinity}',
        b'{"model":"m","messages":[{"role":"user","content":"\xff\xfe\x00"}]}',
        b"\xef\xbb\xbf" + dumps(SMALL),
        dumps(SMALL).decode().encode("utf-16"),
        b"\x00" * 1_000,
        b"",
        b"null",
    ],
    ids=range(11),
)
async def test_odd_json_is_the_upstreams_to_judge(proxy_factory: Any, body: bytes) -> None:
    """
    Deep, huge, doubled or broken: the bytes pass.
    """
    async with whole(proxy_factory, plain(b'{"ok":true}')) as w:
        answer = await w.post(body)

        assert (answer.status, answer.body, w.upstream.received[0].body) == (200, b'{"ok":true}', body)
