"""
Everything that is not ours to change passes byte for byte, both ways.
"""

import gzip

import pytest

from proxy.server.settings import LimitsSettings
from tests.support.edge import CHAT, STREAM_HEAD, chunk, never_blocks, plain, says, world

pytestmark = pytest.mark.usefixtures("never_blocks")
__all__ = ["never_blocks"]

BODY = b'{ "model":"m",  "messages" : [{"role":"user","content":"\\u00e9 \xc3\xa9"}], "x-unknown": 1e3 }'


async def test_passes_a_chat_body_byte_for_byte():
    """
    Odd spacing, escapes and unknown fields reach the upstream exactly as the client wrote them.
    """
    async with world() as w:
        await w.ask("POST", CHAT, headers=b"Content-Type: application/json\r\n", body=BODY)

        assert w.upstream.received[0].body == BODY


async def test_passes_an_answer_byte_for_byte():
    """
    Leading blanks, non-ASCII letters and a stated length come back unchanged.
    """
    body = b'\n\n  {"choices": [ ], "text": "\xe4\xbd\xa0"}\n'
    async with world(plain(body)) as w:
        answer = await w.ask("POST", CHAT, body=BODY)

        assert (answer.status, answer.body, answer.header("content-length")) == (200, body, str(len(body)))


async def test_keeps_the_order_the_case_and_the_duplicates_of_request_headers():
    """
    Only Host is ours; the rest stands as the client sent it, duplicates each in its own spelling.
    """
    headers = b"X-Title: a\r\nhttp-referer: b\r\nX-Dup: 1\r\nx-dup: 2\r\nAccept-Encoding: br;q=1\r\n"
    async with world() as w:
        await w.ask("POST", CHAT, headers=headers, body=b"{}")

        expected = [
            ("X-Title", "a"),
            ("http-referer", "b"),
            ("X-Dup", "1"),
            ("x-dup", "2"),
            ("Accept-Encoding", "br;q=1"),
            ("Content-Length", "2"),
        ]
        assert w.upstream.received[0].headers[1:] == expected


async def test_keeps_request_bytes_that_are_no_text():
    """
    In a header's value; and a question mark without a query.
    """
    async with world() as w:
        await w.ask("GET", "/v1/models?", headers=b"X-Title: caf\xe9 \xe4\xbd\xa0\r\n")

        received = w.upstream.received[0]
        assert received.target == "/v1/models?"
        assert b"X-Title: caf\xe9 \xe4\xbd\xa0\r\n" in received.head


async def test_keeps_the_order_the_case_and_the_duplicates_of_response_headers():
    """
    Two Set-Cookie rows stay two, and nothing is added.
    """
    headers = b"Set-Cookie: a=1\r\nX-Request-ID: r\r\nset-cookie: b=2\r\nx-ratelimit-remaining: 9\r\n"
    async with world(plain(headers=headers)) as w:
        answer = await w.ask("GET", "/v1/models")

        expected = [
            ("Set-Cookie", "a=1"),
            ("X-Request-ID", "r"),
            ("set-cookie", "b=2"),
            ("x-ratelimit-remaining", "9"),
            ("Content-Length", "2"),
        ]
        assert answer.headers == expected


async def test_drops_hop_by_hop_and_connection_listed_headers_of_a_request():
    """
    What belongs to the client's connection, by rule or by its own word, ends here.
    """
    headers = (
        b"Connection: keep-alive, X-Mine\r\nX-Mine: 1\r\nTE: trailers\r\nProxy-Authorization: secret\r\nX-Kept: 1\r\n"
    )
    async with world() as w:
        await w.ask("GET", "/v1/models", headers=headers)

        assert w.upstream.received[0].names() == ["Host", "X-Kept"]


async def test_drops_hop_by_hop_headers_of_an_answer():
    """
    The upstream's Keep-Alive and the headers it lists in Connection say nothing about our connection.
    """
    headers = b"Connection: x-hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nX-End: 1\r\n"
    async with world(plain(headers=headers)) as w:
        answer = await w.ask("GET", "/v1/models")

        assert [name for name, _ in answer.headers] == ["X-End", "Content-Length"]


async def test_drops_our_own_request_headers():
    """
    x-concertina-* are orders to the proxy, not to the upstream.
    """
    async with world() as w:
        await w.ask("POST", CHAT, headers=b"X-Concertina-Mode: off\r\nx-concertina-key: k\r\n", body=b"{}")

        assert w.upstream.received[0].names() == ["Host", "Content-Length"]


async def test_passes_a_compressed_answer_untouched():
    """
    A gzip body stays gzip, with its header, since the client asked for it.
    """
    body = gzip.compress(b'{"a":1}' * 50)
    async with world(plain(body, headers=b"Content-Encoding: gzip\r\n")) as w:
        answer = await w.ask("POST", CHAT, body=b"{}")

        assert (answer.header("content-encoding"), answer.body) == ("gzip", body)


async def test_passes_a_compressed_request_untouched():
    """
    A client may compress what it sends.
    """
    body = gzip.compress(BODY)
    async with world() as w:
        await w.ask("POST", CHAT, headers=b"Content-Encoding: gzip\r\n", body=body)

        assert (w.upstream.received[0].body, w.upstream.received[0].header("content-encoding")) == (body, "gzip")


async def test_passes_multipart_with_its_boundary():
    """
    A form upload is bytes like any other.
    """
    kind = b"Content-Type: multipart/form-data; boundary=----b\r\n"
    body = b'------b\r\nContent-Disposition: form-data; name="file"\r\n\r\n\x00\xff\r\n------b--\r\n'
    async with world() as w:
        await w.ask("POST", "/v1/audio/transcriptions", headers=kind, body=body)

        received = w.upstream.received[0]
        assert (received.body, received.header("content-type")) == (body, "multipart/form-data; boundary=----b")


async def test_passes_a_chunked_upload():
    """
    An upload of unknown length stays chunked.
    """
    async with world() as w:
        client = await w.client()
        await client.send(b"POST /v1/files HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n")
        await client.send(chunk(b"one ") + chunk(b"two") + b"0\r\n\r\n")
        await client.answer()

        received = w.upstream.received[0]
        assert (received.body, received.header("transfer-encoding")) == (b"one two", "chunked")


async def test_passes_a_chunked_chat_body():
    """
    A chat body of unknown length is gathered and sent with its length.
    """
    async with world() as w:
        client = await w.client()
        await client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n")
        await client.send(chunk(b'{"a"') + chunk(b":1}") + b"0\r\n\r\n")
        await client.answer()

        received = w.upstream.received[0]
        assert (received.body, received.header("content-length")) == (b'{"a":1}', "7")


async def test_streams_an_upload_that_is_larger_than_the_body_limit():
    """
    Only chat bodies are held in memory, so only they are limited.
    """
    body = bytes(range(256)) * 80 * 1024
    async with world(limits=LimitsSettings(max_body=1024)) as w:
        answer = await w.ask("POST", "/v1/files", body=body)

        assert (answer.status, w.upstream.received[0].body == body) == (200, True)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/v1/models?a=1&b=%20x+y&c=%2F", "/v1/models?a=1&b=%20x+y&c=%2F"),
        ("/models?after=", "/v1/models?after="),
        ("/v1/models/org%2Fname", "/v1/models/org%2Fname"),
    ],
)
async def test_passes_the_query_verbatim(target, expected):
    """
    Neither ``%20`` nor ``+`` nor an empty value is rewritten.
    """
    async with world() as w:
        await w.ask("GET", target)

        assert w.upstream.received[0].target == expected


@pytest.mark.parametrize("method", ["OPTIONS", "DELETE", "PUT", "PATCH", "GET"])
async def test_passes_every_method(method):
    """
    The proxy knows no list of methods.
    """
    async with world(plain(b"done")) as w:
        answer = await w.ask(method, "/v1/files/f-1")

        assert (w.upstream.received[0].method, answer.body) == (method, b"done")


async def test_passes_head_with_the_length_and_no_body():
    """
    HEAD answers state the length of a body that does not come.
    """
    async with world(says(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")) as w:
        client = await w.client()
        first = await client.ask("HEAD", "/v1/models")
        second = await client.ask("HEAD", "/v1/models")

        assert (first.header("content-length"), second.status) == ("12", 200)


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_passes_answers_that_have_no_body(status):
    """
    The next answer on the same connection starts right after the head.
    """
    async with world(says(f"HTTP/1.1 {status}\r\nETag: x\r\n\r\n".encode())) as w:
        client = await w.client()
        first = await client.ask("GET", "/v1/files/1")
        second = await client.ask("GET", "/v1/files/1")

        assert (first.status, first.headers, second.status) == (int(status[:3]), [("ETag", "x")], int(status[:3]))


async def test_passes_redirects_without_following_them():
    """
    Where to go is the client's decision, above all with its credential.
    """
    headers = b"Location: http://elsewhere/v1\r\n"
    async with world(plain(b"", status="307 Temporary Redirect", headers=headers)) as w:
        answer = await w.ask("GET", "/v1/models")

        assert (answer.status, answer.header("location"), len(w.upstream.received)) == (307, "http://elsewhere/v1", 1)


async def test_passes_an_error_with_its_reason_and_body():
    """
    An upstream's 4xx, HTML or not, is the client's to read.
    """
    async with world(plain(b"<html>", status="418 I am odd", headers=b"Retry-After: 3\r\n")) as w:
        answer = await w.ask("GET", "/v1/models")

        assert (answer.status, answer.reason, answer.body) == (418, "I am odd", b"<html>")


async def test_passes_an_answer_that_ends_with_its_connection():
    """
    A body without a length gets chunks, so that its end can be told from a break.
    """

    async def script(request, reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nall of it")
        await writer.drain()
        writer.close()

    async with world(script) as w:
        answer = await w.ask("GET", "/v1/models")

        assert (answer.body, answer.header("transfer-encoding")) == (b"all of it", "chunked")


async def test_reuses_connections_on_both_sides():
    """
    Ten requests on one client connection need one upstream connection.
    """
    async with world() as w:
        client = await w.client()
        for _ in range(10):
            await client.ask("POST", CHAT, body=b"{}")

        assert (len(w.upstream.received), w.upstream.connections) == (10, 1)


async def test_sends_the_body_again_when_a_kept_connection_had_died():
    """
    The upstream closed an idle connection at the very moment of the next request; the client does not notice.
    """

    async def script(request, reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async with world(script) as w:
        client = await w.client()
        answers = [await client.ask("POST", CHAT, body=b"{}") for _ in range(5)]

        assert [answer.status for answer in answers] == [200] * 5


async def test_never_sends_a_post_twice_that_the_upstream_received():
    """
    A second try could be billed twice: the broken connection is told instead.
    """

    async def script(request, reader, writer):
        writer.close()

    async with world(script) as w:
        answer = await w.ask("POST", CHAT, body=b"{}")

        assert (answer.status, len(w.upstream.received)) == (502, 1)


async def test_streams_headers_before_the_first_chunk():
    """
    A client sees the status of a stream although the model still thinks.
    """

    async def script(request, reader, writer):
        writer.write(STREAM_HEAD)
        await writer.drain()
        await reader.read()

    async with world(script) as w:
        client = await w.client()
        await client.send(b"GET /v1/events HTTP/1.1\r\nHost: p\r\n\r\n")

        assert (await client.head()).status == 200
