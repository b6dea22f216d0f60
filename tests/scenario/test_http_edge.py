"""
The edge itself: what it refuses, how it fails, how it stops.
"""

import asyncio

import orjson
import pytest

from proxy.server.contract import Readiness
from proxy.server.settings import LimitsSettings
from proxy.upstream.wire import Answer
from tests.support.edge import CHAT, STREAM_HEAD, chunk, never_blocks, plain, world

pytestmark = pytest.mark.usefixtures("never_blocks")
__all__ = ["never_blocks"]


def error_of(answer):
    return orjson.loads(answer.body)["error"]


async def raw(w, request):
    client = await w.client()
    await client.send(request)
    return await client.answer()


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"GET http://elsewhere/v1/models HTTP/1.1", 400),
        (b"CONNECT elsewhere:443 HTTP/1.1", 405),
        (b"OPTIONS * HTTP/1.1", 400),
        (b"GET /v1/../admin HTTP/1.1", 400),
        (b"GET /v1/%2e%2e/admin HTTP/1.1", 400),
        (b"GET /v1/%252e%252e/admin HTTP/1.1", 400),
        (b"GET /v1/..%5cadmin HTTP/1.1", 400),
        (b"NONSENSE", 400),
    ],
)
async def test_refuses_targets_that_are_no_paths_of_the_upstream(line, status):
    """
    The proxy is no open proxy, and nothing climbs out of its upstream; the refusal has OpenAI's shape.
    """
    async with world() as w:
        answer = await raw(w, line + b"\r\nHost: p\r\n\r\n")

        assert (answer.status, set(error_of(answer))) == (status, {"message", "type", "param", "code"})
        assert not w.upstream.received


async def test_refuses_a_chat_body_whose_stated_length_is_over_the_limit():
    """
    The 413 comes before the body has been sent.
    """
    async with world(limits=LimitsSettings(max_body=10)) as w:
        answer = await raw(w, b"POST %b HTTP/1.1\r\nHost: p\r\nContent-Length: 11\r\n\r\n" % CHAT.encode())

        assert (answer.status, error_of(answer)["code"]) == (413, "request_too_large")


async def test_refuses_a_chunked_chat_body_that_grows_over_the_limit():
    """
    A body of unknown length is counted as it comes.
    """
    async with world(limits=LimitsSettings(max_body=10)) as w:
        head = b"POST %b HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n" % CHAT.encode()
        answer = await raw(w, head + chunk(b"x" * 20) + b"0\r\n\r\n")

        assert answer.status == 413


async def test_refuses_a_body_whose_chunks_are_broken():
    """
    It is the client's mistake, not a fault of ours.
    """
    async with world() as w:
        client = await w.client()
        await client.send(b"POST %b HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n" % CHAT.encode())
        await client.send(b"zz\r\n")

        assert (await client.answer()).status == 400


async def test_takes_a_chat_body_of_many_megabytes():
    """
    The limit of aiohttp, one megabyte, is not ours.
    """
    body = b'{"x":"' + b"y" * 20_000_000 + b'"}'
    async with world() as w:
        answer = await w.ask("POST", CHAT, body=body)

        assert (answer.status, w.upstream.received[0].body == body) == (200, True)


@pytest.mark.parametrize(
    "filler", [b"X-Long: " + b"a" * 3000 + b"\r\n", b"".join(b"X-%d: aaaaaaa\r\n" % n for n in range(100))]
)
async def test_refuses_a_head_over_the_limit(filler):
    """
    One long line or many short ones, the whole head counts.
    """
    async with world(limits=LimitsSettings(headers=1500)) as w:
        answer = await w.ask("GET", "/v1/models", headers=filler)

        assert answer.status in {400, 431}


async def test_closes_a_connection_whose_head_never_ends():
    """
    One letter now and then does not hold a connection open.
    """
    async with world(limits=LimitsSettings(header_timeout=0.1)) as w:
        client = await w.client()
        await client.send(b"GET /v1/models HTTP/1.1\r\nHost: p\r\nX-Slow: ")

        assert await asyncio.wait_for(client.reader.read(), 5) == b""


async def test_gives_a_slow_answer_all_the_time_it_needs():
    """
    The limit is for heads alone; models think long.
    """
    release = asyncio.Event()

    async def script(request, reader, writer):
        await release.wait()
        await plain(b"late")(request, reader, writer)

    async with world(script, limits=LimitsSettings(header_timeout=0.05)) as w:
        client = await w.client()
        await client.send(b"GET /v1/models HTTP/1.1\r\nHost: p\r\n\r\n")
        await asyncio.sleep(0.2)
        release.set()

        assert (await client.answer()).body == b"late"


@pytest.mark.parametrize("target", [CHAT, "/v1/files"])
async def test_welcomes_a_client_that_waits_to_be_told_to_send(target):
    """
    ``Expect: 100-continue`` is answered here and does not reach the upstream.
    """
    async with world() as w:
        client = await w.client()
        await client.send(
            b"POST %b HTTP/1.1\r\nHost: p\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n" % target.encode()
        )
        assert (await client.head()).status == 100
        await client.send(b"{}")

        assert ((await client.answer()).status, w.upstream.received[0].header("expect")) == (200, None)


async def test_tells_an_unreachable_upstream():
    """
    502 in OpenAI's shape, without the address or the query in it.
    """
    async with world() as w:
        await w.upstream.stop()
        answer = await w.ask("POST", CHAT + "?key=secret", body=b"{}")
        await w.upstream.start()

        assert (answer.status, error_of(answer)["code"]) == (502, "upstream_unreachable")
        assert b"secret" not in answer.body


async def test_tells_an_upstream_that_hangs_up():
    """
    A connection that ends before any answer is told as such.
    """

    async def script(request, reader, writer):
        writer.close()

    async with world(script) as w:
        answer = await w.ask("POST", CHAT, body=b"{}")

        assert (answer.status, error_of(answer)["code"]) == (502, "upstream_broken")


async def test_tells_an_upstream_that_speaks_no_http():
    """
    Garbage is no answer.
    """

    async def script(request, reader, writer):
        writer.write(b"220 smtp ready\r\n\r\n")
        await writer.drain()
        writer.close()

    async with world(script) as w:
        assert (await w.ask("GET", "/v1/models")).status == 502


async def test_hides_the_text_of_a_fault_of_ours():
    """
    A bug answers 500 with no traceback, and asks SDKs not to send the body three times.
    """

    class Broken:
        async def chat(self, incoming):
            raise RuntimeError("a secret of the client")

    async with world(handler=lambda _: Broken()) as w:
        answer = await w.ask("POST", CHAT, body=b"{}")

        assert (answer.status, answer.header("x-should-retry"), b"secret" in answer.body) == (500, "false", False)


async def test_turns_away_what_is_over_the_number_in_flight():
    """
    503 with Retry-After, while health stays reachable.
    """

    async def hang(request, reader, writer):
        await reader.read()

    async with world(hang, limits=LimitsSettings(inflight=1)) as w:
        busy = await w.client()
        await busy.send(b"GET /v1/models HTTP/1.1\r\nHost: p\r\n\r\n")
        await w.upstream.arrived.wait()
        answer = await w.ask("GET", "/v1/models")
        health = await w.ask("GET", "/healthz")

        assert (answer.status, answer.header("retry-after"), health.status) == (503, "1", 200)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/health", "/readyz"])
async def test_answers_health_without_an_upstream(path):
    """
    Probes need neither a key nor a server behind.
    """
    async with world(client_keys=("ck",)) as w:
        answer = await w.ask("GET", path)

        assert (answer.status, w.upstream.received) == (200, [])


async def test_is_not_ready_before_it_is():
    """
    Readiness says what is missing; being alive does not depend on it.
    """
    async with world() as w:
        w.edge._ready = lambda: Readiness(ready=False, notes=("token tables are loading",))
        answer = await w.ask("GET", "/readyz")

        assert (answer.status, orjson.loads(answer.body)["notes"]) == (503, ["token tables are loading"])


async def test_asks_for_a_client_key():
    """
    Where keys are configured a request without one goes nowhere.
    """
    async with world(client_keys=("ck-1",), api_keys=("sk-own",)) as w:
        answer = await w.ask("POST", CHAT, headers=b"Authorization: Bearer wrong\r\n", body=b"{}")

        assert (answer.status, error_of(answer)["code"], w.upstream.received) == (401, "invalid_api_key", [])


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (b"Authorization: Bearer ck-1\r\n", "Bearer sk-own"),
        (b"X-Concertina-Key: ck-1\r\n", "Bearer sk-own"),
        (b"X-Concertina-Key: ck-1\r\nAuthorization: Bearer sk-theirs\r\n", "Bearer sk-theirs"),
    ],
)
async def test_exchanges_a_client_key_for_the_upstreams(headers, expected):
    """
    Our key stays here; a client's own upstream key passes.
    """
    async with world(client_keys=("ck-1",), api_keys=("sk-own",)) as w:
        await w.ask("POST", CHAT, headers=headers, body=b"{}")

        received = w.upstream.received[0]
        assert (received.header("authorization"), b"ck-1" in received.head) == (expected, False)


async def test_lets_running_streams_end_when_it_stops():
    """
    While it drains, readiness fails on a kept connection, and the stream gets its last event.
    """
    release = asyncio.Event()

    async def script(request, reader, writer):
        writer.write(STREAM_HEAD + chunk(b"data: 1\n\n"))
        await release.wait()
        writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    async with world(script) as w:
        kept, streaming = await w.client(), await w.client()
        await kept.ask("GET", "/healthz")
        await streaming.send(b"POST %b HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\n{}" % CHAT.encode())
        await streaming.read_until(b"data: 1\n\n\r\n")
        stopping = asyncio.ensure_future(w.listening.stop(drain=10))
        await asyncio.sleep(0)
        ready = await kept.ask("GET", "/readyz")
        release.set()
        rest = await streaming.reader.read()
        await stopping

        assert (ready.status, ready.header("connection"), rest.endswith(b"0\r\n\r\n")) == (503, "close", True)


async def test_cuts_what_runs_longer_than_the_drain():
    """
    A stream without end is broken, not ended.
    """

    async def script(request, reader, writer):
        writer.write(STREAM_HEAD + chunk(b"data: 1\n\n"))
        await reader.read()

    async with world(script) as w:
        client = await w.client()
        await client.send(b"POST %b HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\n{}" % CHAT.encode())
        await client.read_until(b"data: 1\n\n\r\n")
        await w.listening.stop(drain=0.05)

        assert await client.reader.read() == b""
        await asyncio.wait_for(w.upstream.left.wait(), 1)


async def test_trusts_the_authority_it_is_told_to(certificate):
    """
    A certificate of unknown origin is refused until its authority is configured.
    """
    statuses = []
    for settings in ({}, {"ca_file": certificate[0]}):
        async with world(tls=certificate, **settings) as w:
            statuses.append((await w.ask("GET", "/v1/models")).status)

    assert statuses == [502, 200]


async def test_trusts_the_authorities_that_the_environment_names(certificate, monkeypatch):
    """
    ``SSL_CERT_FILE``, as companies set it for everything on a machine.
    """
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    async with world(tls=certificate) as w:
        assert (await w.ask("GET", "/v1/models")).status == 200


async def test_goes_through_a_forward_proxy():
    """
    HTTP_PROXY leads there with an absolute target and the proxy's own credential.
    """
    async with world() as through:
        environ = {"http_proxy": f"http://user:pw@127.0.0.1:{through.upstream.port}"}
        async with world(environ=environ, base_url="http://model.internal/v1") as w:
            answer = await w.ask("GET", "/v1/models")

            received = through.upstream.received[0]
            assert (answer.status, received.target) == (200, "http://model.internal/v1/models")
            assert received.header("proxy-authorization") == "Basic dXNlcjpwdw=="


async def test_passes_an_answer_that_comes_before_the_upload_is_complete():
    """
    A server that refuses a file need not receive it; the client reads why.
    """

    async def script(request, reader, writer):
        await plain(b"no", status="401 Unauthorized")(request, reader, writer)
        await reader.read()

    async with world(script) as w:
        w.upstream.read_bodies = False
        client = await w.client()
        await client.send(b"POST /v1/files HTTP/1.1\r\nHost: p\r\nContent-Length: 1000000\r\n\r\nhalf")
        answer = await client.answer()
        await asyncio.wait_for(w.upstream.left.wait(), 1)

        assert (answer.status, answer.body) == (401, b"no")


async def test_never_lets_a_header_value_become_a_header():
    """
    A line break in a value of ours is a blank on the wire.
    """

    class Careless:
        async def chat(self, incoming):
            return Answer.of_bytes(200, (("x-note", "a\r\nx-evil: 1\0"),), b"")

    async with world(handler=lambda _: Careless()) as w:
        answer = await w.ask("POST", CHAT, body=b"{}")

        assert (answer.header("x-note"), answer.header("x-evil")) == ("a  x-evil: 1 ", None)


async def test_passes_header_bytes_that_are_no_text():
    """
    Latin-1 and worse come back as the bytes they were.
    """
    async with world(plain(headers=b"X-Name: caf\xe9 \xe4\xbd\xa0\r\n")) as w:
        answer = await w.ask("GET", "/v1/models")

        assert answer.header("x-name").encode("utf-8", "surrogateescape") == b"caf\xe9 \xe4\xbd\xa0"
