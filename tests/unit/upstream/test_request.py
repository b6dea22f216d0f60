import asyncio
import gc
import socket
import struct
import sys
from contextlib import suppress

import pytest

from proxy.errors import BadRequestError, UpstreamBrokenError
from proxy.upstream.proxies import ForwardProxy
from proxy.upstream.request import head_of
from proxy.upstream.way import Way
from proxy.upstream.wire import Outgoing
from tests.support.edge import plain
from tests.support.reached import reached

WAY = Way("model.test", 8000, "model.test:8000", 1.0, None, None, absolute=False)
URL = "http://model.test:8000"


def head(method="POST", path="/v1/x", headers=(), body=b"", way=WAY):
    return head_of(Outgoing("up", method, URL + path, headers, body), way)


def test_writes_headers_as_they_are():
    """
    Order, case, duplicates and bytes that are no text.
    """
    raw = b"caf\xe9".decode("utf-8", "surrogateescape")
    headers = (("x-B", "1"), ("X-a", "2"), ("X-b", raw), ("Content-Length", "0"))

    assert head(headers=headers) == (
        b"POST /v1/x HTTP/1.1\r\nHost: model.test:8000\r\nx-B: 1\r\nX-a: 2\r\nX-b: caf\xe9\r\nContent-Length: 0\r\n\r\n"
    )


@pytest.mark.parametrize("path", ["/v1/x?", "/v1/x?a=/b", "/", "//x", "/%7e?q=%2F#".replace("#", "%23")])
def test_keeps_the_target_to_the_letter(path):
    """
    A bare question mark, too.
    """
    assert head("GET", path).startswith(b"GET " + path.encode() + b" HTTP/1.1\r\n")


def test_lets_the_configuration_name_the_host():
    """
    It stands once.
    """
    written = head(headers=(("host", "other"),)).lower()

    assert (written.count(b"host:"), b"host: other" in written) == (1, True)


@pytest.mark.parametrize(
    ("method", "body", "framing"),
    [
        ("POST", b"", b"Content-Length: 0"),
        ("POST", b"ab", b"Content-Length: 2"),
        ("DELETE", b"", b"Content-Length: 0"),
        ("GET", b"", b"Host: model.test:8000"),
        ("GET", b"a", b"Content-Length: 1"),
    ],
)
def test_says_how_long_a_body_is(method, body, framing):
    """
    Where the client has not; methods that have none say nothing.
    """
    assert head(method, body=body).endswith(framing + b"\r\n\r\n")


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "\ud800"])
def test_never_lets_a_value_become_a_header(value):
    """
    Nor does anything leave that cannot be written.
    """
    with pytest.raises(UpstreamBrokenError, match="cannot be sent"):
        head(headers=(("X-A", value),))


def test_asks_a_forward_proxy_for_the_whole_url():
    """
    With the credential of that proxy.
    """
    proxy = ForwardProxy("p", 3128, None, "Basic eA==")
    way = Way("model.test", 8000, "model.test:8000", 1.0, None, proxy, absolute=True)

    written = head("GET", "/v1/x?a", way=way)

    assert written.startswith(b"GET http://model.test:8000/v1/x?a HTTP/1.1\r\nHost: model.test:8000\r\n")
    assert written.endswith(b"Proxy-Authorization: Basic eA==\r\n\r\n")


@pytest.mark.parametrize("size", [0, 1, 64 * 1024, 64 * 1024 + 1, 1024 * 1024, 3_000_001])
async def test_bodies_of_every_size_arrive_whole(size):
    """
    Those in one write, and those in slices.
    """
    body = bytes(range(256)) * (size // 256) + b"." * (size % 256)
    async with reached() as r:
        assert await r.ask(body=body) == (200, b"{}")
        assert await r.ask(body=body) == (200, b"{}")

        assert [one.body == body for one in r.upstream.received] == [True, True]
        assert r.upstream.connections == 1


async def test_the_upstream_sets_the_pace_of_a_large_body():
    """
    Of a body that nobody reads, most stays here; once it is read it goes on.
    """
    read = asyncio.Event()

    async def script(request, reader, writer):
        await read.wait()
        await reader.readexactly(60_000_000)
        await plain()(request, reader, writer)

    async with reached(script) as r:
        r.upstream.read_bodies = False
        asking = asyncio.ensure_future(r.ask(body=b"x" * 60_000_000))
        await r.upstream.arrived.wait()
        await asyncio.sleep(0.1)
        (connection,) = next(iter(r.client._shared.by_line.values()))._all
        waiting = connection.transport.get_write_buffer_size()
        read.set()
        assert await asking == (200, b"{}")

    assert waiting < 2_000_000


async def pieces(*all_of_them):
    for piece in all_of_them:
        await asyncio.sleep(0)
        yield piece


async def test_streams_a_body_in_chunks():
    """
    Where its length is not known.
    """
    async with reached() as r:
        assert await r.ask(body=pieces(b"one", b"", b"two" * 100_000)) == (200, b"{}")
        assert await r.ask(body=pieces()) == (200, b"{}")

        first, second = r.upstream.received
        assert (first.header("transfer-encoding"), first.body) == ("chunked", b"one" + b"two" * 100_000)
        assert (second.body, r.upstream.connections) == (b"", 1)


async def test_streams_a_body_of_stated_length():
    """
    Never a byte more than was stated.
    """
    async with reached() as r:
        stated = (("content-length", "6"),)
        assert await r.ask(headers=stated, body=pieces(b"one", b"two, and more", b"still more")) == (200, b"{}")
        assert await r.ask(headers=stated, body=pieces(b"", b"sixsix")) == (200, b"{}")

        assert [one.body for one in r.upstream.received] == [b"onetwo", b"sixsix"]
        assert r.upstream.connections == 1


async def test_a_body_shorter_than_stated_is_broken_off():
    """
    The upstream must not wait for the rest, nor take the next request for it.
    """
    async with reached() as r:
        with pytest.raises(UpstreamBrokenError):
            await asyncio.wait_for(r.ask(headers=(("content-length", "6"),), body=pieces(b"one")), 5)
        await asyncio.wait_for(r.upstream.left.wait(), 1)


@pytest.mark.parametrize(
    ("fault", "told"),
    [(BadRequestError(400, "no HTTP"), BadRequestError), (ConnectionResetError(), UpstreamBrokenError)],
)
async def test_a_source_that_fails_ends_the_request(fault, told):
    """
    With its own error where that is one of ours.
    """

    async def failing():
        yield b"one"
        raise fault

    async with reached() as r:
        with pytest.raises(told):
            await asyncio.wait_for(r.ask(body=failing()), 5)
        await asyncio.wait_for(r.upstream.left.wait(), 1)


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_answer_before_the_body_is_whole_is_handed_on(streamed):
    """
    A 413 to the first bytes; the rest is not sent, and the connection not used again.
    """

    async def script(request, reader, writer):
        await plain(b"too large", status="413 Payload Too Large")(request, reader, writer)

    async def endless():
        while True:
            yield b"x" * 10_000
            await asyncio.sleep(0)

    async with reached(script) as r:
        r.upstream.read_bodies = False
        body = endless() if streamed else b"x" * 30_000_000
        assert await asyncio.wait_for(r.ask(body=body), 5) == (413, b"too large")
        await asyncio.wait_for(r.upstream.left.wait(), 1)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("size", [300_000, 10_000_000])
async def test_a_refusal_is_heard_although_the_upstream_hangs_up(size, streamed):
    """
    It answers, and resets the connection to which we still write: the answer is what counts.
    """

    async def script(request, reader, writer):
        await plain(b"too large", status="413 Payload Too Large", headers=b"Connection: close\r\n")(
            request, reader, writer
        )
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    async with reached(script) as r:
        r.upstream.read_bodies = False
        for _ in range(10):
            body = pieces(*[b"x" * 50_000] * (size // 50_000)) if streamed else b"x" * size
            assert await asyncio.wait_for(r.ask(body=body), 5) == (413, b"too large")


async def test_a_long_refusal_is_heard_as_far_as_it_came():
    """
    More of it than is taken unread: it breaks off, and nothing of ours breaks with it.
    """
    faults = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))

    async def script(request, reader, writer):
        await plain(b"x" * 2_000_000, status="413 Payload Too Large")(request, reader, writer)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async with reached(script) as r:
        r.upstream.read_bodies = False
        for _ in range(5):
            answer = await asyncio.wait_for(r.send(body=b"x" * 30_000_000), 5)
            await asyncio.sleep(0.02)
            with suppress(UpstreamBrokenError):
                assert await asyncio.wait_for(answer.read(), 5) == b"x" * 2_000_000

    assert faults == []


async def test_a_body_that_was_answered_early_is_let_go():
    """
    At once, not when a collection of garbage finds it.
    """

    async def script(request, reader, writer):
        await plain(b"too large", status="413 Payload Too Large")(request, reader, writer)

    body = b"".join([b"x"] * 30_000_000)
    gc.disable()
    try:
        async with reached(script) as r:
            r.upstream.read_bodies = False
            before = sys.getrefcount(body)
            assert await asyncio.wait_for(r.ask(body=body), 5) == (413, b"too large")
            await asyncio.sleep(0.1)

            assert sys.getrefcount(body) == before
    finally:
        gc.enable()


async def test_an_answer_may_begin_while_the_body_goes_on():
    """
    Both ways at once, as some transcribers speak.
    """

    async def script(request, reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(3):
            await reader.readline()
            piece = await reader.readline()
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await reader.readline()
        await reader.readline()
        writer.write(b"0\r\n\r\n")

    said = asyncio.Queue()

    async def body():
        for word in (b"one", b"two", b"three"):
            yield word
            assert (await said.get()).strip() == word

    async with reached(script) as r:
        r.upstream.read_bodies = False
        answer = await r.send(body=body())
        heard = []
        async for piece in answer.chunks:
            heard.append(piece)
            said.put_nowait(piece)

    assert b"".join(heard) == b"one\r\ntwo\r\nthree\r\n"
