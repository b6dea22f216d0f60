"""
What a strict observer of HTTP would check, with the bytes compared as they are on the wire.
"""

import asyncio
import socket

import pytest

from proxy.server.run import Listening
from tests.support.edge import CHAT, RawClient, World, chunk, never_blocks, plain, says, world

pytestmark = pytest.mark.usefixtures("never_blocks")
__all__ = ["never_blocks"]

OPAQUE = bytes(range(256)) * 40


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate", "x-unheard-of", "gzip, br"])
@pytest.mark.parametrize("target", [CHAT, "/v1/responses"])
async def test_bodies_of_any_coding_pass_both_ways(coding, target):
    """
    Nothing is decoded that is only carried, not even where the bytes are no valid code.
    """
    header = b"Content-Encoding: " + coding.encode() + b"\r\n"
    async with world(plain(OPAQUE[::-1], headers=header)) as w:
        answer = await w.ask("POST", target, headers=header, body=OPAQUE)

        received = w.upstream.received[0]
        assert (received.body, received.header("content-encoding")) == (OPAQUE, coding)
        assert (answer.body, answer.header("content-encoding")) == (OPAQUE[::-1], coding)


async def test_requests_written_at_once_are_answered_in_order():
    """
    Pipelining: three requests in one packet, the slowest first.
    """

    async def script(request, reader, writer):
        await asyncio.sleep(0.05 if request.target.endswith("first") else 0)
        await plain(request.target.encode())(request, reader, writer)

    async with world(script) as w:
        client = await w.client()
        chat = b'POST /v1/chat/completions?n=second HTTP/1.1\r\nHost: p\r\nContent-Length: 15\r\n\r\n{"stream":true}'
        get = b"GET /v1/models?n=%b HTTP/1.1\r\nHost: p\r\n\r\n"
        await client.send(get % b"first" + chat + get % b"third")
        answers = [await client.answer() for _ in range(3)]

        assert [answer.body[-5:] for answer in answers] == [b"first", b"econd", b"third"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", None),
        ("/openai/deployments/a%20b/embeddings?api-version=2024-10-21&x=a+b%20c", None),
        ("/openai/v1/chat/completions", None),
        ("/chat/completions", "/openai/chat/completions"),
    ],
)
async def test_azure_paths_reach_their_deployment(target, expected):
    """
    The base URL ends in /openai, as Azure's does; deployment and api-version pass verbatim.
    """
    async with world(base="/openai") as w:
        answer = await w.ask("POST", target, headers=b"api-key: k\r\n", body=b"{}")

        received = w.upstream.received[0]
        assert (answer.status, received.header("api-key")) == (200, "k")
        assert expected is None or received.target == expected
        assert expected is not None or received.target.startswith(target[:20])
        assert received.target.partition("?")[2] == target.partition("?")[2]


@pytest.mark.parametrize(
    "target",
    [
        "/v1/../admin",
        "/v1/files/..%2f..%2fetc",
        "/v1/%2e%2e/x",
        "/v1/%252e%252e/x",
        "/v1/..;/x",
        "/v1\\..\\x",
        "/local/../../x",
    ],
)
async def test_no_path_climbs_out_of_the_upstream(target):
    """
    Whatever the encoding; the upstream is not even asked.
    """
    async with world() as w:
        answer = await w.ask("GET", target)

        assert (answer.status, b"invalid_path" in answer.body, w.upstream.received) == (400, True, [])


async def test_trailing_dots_and_odd_names_are_no_climbing():
    """
    Two dots within a name are a name.
    """
    async with world() as w:
        for target in ("/v1/files/a..b", "/v1/files/..a", "/v1/files/a%2Fb", "/v1/models/org%2Fmodel"):
            assert (await w.ask("GET", target)).status == 200

        assert [one.target for one in w.upstream.received][-1] == "/v1/models/org%2Fmodel"


async def test_many_long_headers_pass_both_ways():
    """
    Sixty headers of 700 bytes, and a token of 8 KB.
    """
    lines = b"".join(b"X-Long-%d: %b\r\n" % (number, b"v" * 700) for number in range(60))
    token = b"Authorization: Bearer " + b"t" * 8_000 + b"\r\n"
    async with world(plain(headers=lines)) as w:
        answer = await w.ask("POST", CHAT, headers=lines + token, body=b"{}")

        received = w.upstream.received[0]
        assert len(received.header("authorization")) == 8_007
        assert sum(name.startswith("X-Long-") for name, _ in received.headers) == 60
        assert sum(name.startswith("X-Long-") for name, _ in answer.headers) == 60


async def test_each_cookie_keeps_a_line_of_its_own():
    """
    Set-Cookie cannot be joined by commas.
    """
    cookies = b"Set-Cookie: a=1; Expires=Wed, 01 Jan 2031 00:00:00 GMT\r\nSet-Cookie: b=2\r\n"
    async with world(plain(headers=cookies)) as w:
        answer = await w.ask("GET", "/v1/models")

        assert answer.all("set-cookie") == ["a=1; Expires=Wed, 01 Jan 2031 00:00:00 GMT", "b=2"]


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_the_next_answer_is_not_mistaken_for_a_body(status):
    """
    After an answer without a body the connection serves the next request.
    """
    async with world(says(b"HTTP/1.1 " + status.encode() + b"\r\nETag: x\r\n\r\n")) as w:
        client = await w.client()
        first = await client.ask("GET", "/v1/files/1")
        w.upstream.script = plain(b"second")
        second = await client.ask("GET", "/v1/files/2")

        assert (first.status, second.body) == (int(status[:3]), b"second")


@pytest.mark.parametrize("flood", [1, 50])
async def test_informational_answers_are_passed_over(flood):
    """
    100 and 103 come before the answer, as often as they like; they are of one hop.
    """
    informational = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * flood + b"HTTP/1.1 100 Continue\r\n\r\n"

    async def script(request, reader, writer):
        writer.write(informational)
        await plain(b"at last")(request, reader, writer)

    async with world(script) as w:
        answer = await w.ask("POST", CHAT, body=b"{}")

        assert (answer.status, answer.body) == (200, b"at last")


@pytest.mark.parametrize(
    "raw",
    [
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: p\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: p\r\nContent-Length: 1e3\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost : p\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /v1/chat/completions HTTP/9.9\r\nHost: p\r\n\r\n",
        b"no http at all\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: p\r\nX: a\0b\r\n\r\n",
    ],
    ids=range(9),
)
async def test_requests_that_two_servers_could_read_in_two_ways_are_refused(raw):
    """
    The roads of request smuggling: refused with an OpenAI-shaped error, the connection closed, nothing forwarded.
    """
    async with world() as w:
        client = await w.client()
        await client.send(raw)
        answer = await client.answer()

        assert (answer.status, b'"error"' in answer.body, w.upstream.received) == (400, True, [])
        assert await client.reader.read() == b""


async def test_a_chunk_of_odd_size_and_extensions_passes():
    """
    Chunk extensions and single-byte chunks are legal; the upstream gets the bytes.
    """
    async with world() as w:
        client = await w.client()
        body = b"".join(b"1;ext=yes\r\n%c\r\n" % byte for byte in b'{"a":1}') + b"0\r\n\r\n"
        await client.send(b"POST %b HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n" % CHAT.encode() + body)

        assert (await client.answer()).status == 200
        assert w.upstream.received[0].body == b'{"a":1}'


async def test_an_answer_in_single_bytes_stays_whole():
    """
    Chunks of one byte each, as a careless server writes them.
    """

    async def script(request, reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        for byte in b'{"a":"\xe4\xbd\xa0"}':
            writer.write(chunk(bytes([byte])))
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    async with world(script) as w:
        answer = await w.ask("POST", CHAT, body=b"{}")

        assert answer.body == b'{"a":"\xe4\xbd\xa0"}'


@pytest.fixture
def six():
    """
    Skip where this machine has no IPv6.
    """
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError:
        pytest.skip("this machine has no IPv6")


async def test_serves_over_ipv6(six):
    """
    On the client's side.
    """
    async with world() as w:
        listening = Listening(w.edge)
        host, port = await listening.start("::1", 0)
        reader, writer = await asyncio.open_connection("::1", port)
        client = RawClient(reader, writer)
        answer = await client.ask("GET", "/v1/models")
        await client.leave()
        await listening.stop()

        assert (host, answer.status) == ("::1", 200)


async def test_reaches_an_upstream_over_ipv6(six):
    """
    A literal address in the base URL, and in the Host header that the upstream reads.
    """
    async with world() as behind:
        server = await asyncio.start_server(behind.upstream._serve, "::1", 0)
        port = server.sockets[0].getsockname()[1]
        async with world(base_url=f"http://[::1]:{port}/v1") as w:
            answer = await w.ask("POST", CHAT, body=b"{}")
            server.close()

        assert (answer.status, behind.upstream.received[0].header("host")) == (200, f"[::1]:{port}")


@pytest.mark.parametrize(
    ("no_proxy", "through"),
    [("10.0.0.0/8,192.168.0.0/16", True), ("10.0.0.0/8,203.0.113.0/24,fd00::/8", False), ("203.0.113.9", False)],
)
async def test_networks_in_no_proxy_are_understood(no_proxy, through):
    """
    CIDR in NO_PROXY; what it covers is asked directly, which here leads nowhere.
    """

    async def reached(environ) -> int:
        async with world(environ=environ, base_url="http://203.0.113.9:9/v1", connect_timeout=0.2) as w:
            return (await w.ask("GET", "/v1/models")).status

    async with world() as forward:
        environ = {"HTTP_PROXY": f"http://127.0.0.1:{forward.upstream.port}", "NO_PROXY": no_proxy}
        status = await reached(environ)

        assert (status == 200, bool(forward.upstream.received)) == (through, through)


async def ask_whole(w: World, raw: bytes) -> bytes:
    """
    Send *raw* and read until the server closes.
    """
    client = await w.client()
    await client.send(raw)
    return await client.reader.read()


@pytest.mark.parametrize(
    "line", [b"GET http://elsewhere.example/v1/models HTTP/1.1", b"CONNECT elsewhere.example:443 HTTP/1.1"]
)
async def test_is_no_open_proxy(line):
    """
    The same refusal with a forged Host.
    """
    async with world() as w:
        raw = await ask_whole(w, line + b"\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n")

        assert raw.startswith((b"HTTP/1.1 400", b"HTTP/1.1 405"))
        assert w.upstream.received == []


async def test_the_clients_host_never_picks_the_upstream():
    """
    A forged Host header goes nowhere: the upstream reads its own name.
    """
    async with world() as w:
        client = await w.client()
        await client.send(b"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\n\r\n")
        await client.answer()

        assert w.upstream.received[0].header("host") == f"127.0.0.1:{w.upstream.port}"
