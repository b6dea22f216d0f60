"""
What only a socket can say: framing that is odd, early, late or ambiguous, byte for byte.
"""

import asyncio

import orjson
import pytest

from proxy.server.settings import LimitsSettings
from tests.support.edge import CHAT, STREAM_HEAD, chunk, never_blocks, plain, says, world

pytestmark = pytest.mark.usefixtures("never_blocks")
__all__ = ["never_blocks"]


def post(target=CHAT, body=b"{}", headers=b""):
    head = b"POST %b HTTP/1.1\r\nHost: p\r\n%bContent-Length: %d\r\n\r\n" % (target.encode(), headers, len(body))
    return head + body


def chunked(body, target=CHAT, headers=b"", trailers=b""):
    head = b"POST %b HTTP/1.1\r\nHost: p\r\n%bTransfer-Encoding: chunked\r\n\r\n" % (target.encode(), headers)
    return head + chunk(body) + b"0\r\n" + trailers + b"\r\n"


async def echo(request, reader, writer):
    await plain(request.body)(request, reader, writer)


def parametrized_bodies():
    return [
        pytest.param(post(body=b"first") + post(body=b"second"), id="stated"),
        pytest.param(chunked(b"first") + chunked(b"second"), id="chunked"),
        pytest.param(chunked(b"first") + post(body=b"second"), id="chunked, then stated"),
        pytest.param(post("/v1/files", b"first") + chunked(b"second", "/v1/files"), id="uploads"),
    ]


@pytest.mark.parametrize("raw", parametrized_bodies())
@pytest.mark.parametrize("step", [1, 7, 10_000])
async def test_requests_with_bodies_written_at_once_keep_them_apart(raw, step):
    """
    However the bytes are cut into packets.
    """
    async with world(echo) as w:
        client = await w.client()
        for start in range(0, len(raw), step):
            await client.send(raw[start : start + step])
            await asyncio.sleep(0)
        answers = [await client.answer() for _ in range(2)]

        assert [answer.body for answer in answers] == [b"first", b"second"]


async def test_many_requests_written_at_once_are_all_answered():
    """
    More than are read ahead; each in its turn, none lost.
    """
    async with world(echo) as w:
        client = await w.client()
        sending = asyncio.ensure_future(client.send(b"".join(post(body=b"%d" % n + b"x" * 500) for n in range(600))))
        answers = [(await client.answer()).body.rstrip(b"x") for _ in range(600)]
        await sending

        assert answers == [b"%d" % number for number in range(600)]


async def test_a_second_request_waits_until_the_stream_before_it_has_ended():
    """
    Its answer comes behind the last chunk, and its upstream is not asked before.
    """
    release = asyncio.Event()

    async def script(request, reader, writer):
        if request.method == "GET":
            await plain(b"after")(request, reader, writer)
            return
        writer.write(STREAM_HEAD + chunk(b"data: 1\n\n"))
        await release.wait()
        writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    async with world(script) as w:
        client = await w.client()
        await client.send(post())
        await client.read_until(b"data: 1\n\n\r\n")
        await client.send(b"GET /v1/models HTTP/1.1\r\nHost: p\r\n\r\n")
        await asyncio.sleep(0.05)
        asked = len(w.upstream.received)
        release.set()
        rest = await client.read_until(b"0\r\n\r\n")
        answer = await client.answer()

        assert (asked, rest.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n"), answer.body) == (1, True, b"after")


async def test_a_client_that_leaves_while_its_next_request_waits_is_noticed():
    """
    What waits is little, so that the end behind it can be read.
    """

    async def hang(request, reader, writer):
        await reader.read()

    async with world(hang) as w:
        client = await w.client()
        await client.send(post() + post())
        await w.upstream.arrived.wait()
        await client.leave()

        await asyncio.wait_for(w.upstream.left.wait(), 1)


async def test_half_a_close_is_leaving():
    """
    A client that only ends its own side cannot be told from one that has gone: the model is stopped.
    """

    async def hang(request, reader, writer):
        await reader.read()

    async with world(hang) as w:
        client = await w.client()
        await client.send(post())
        await w.upstream.arrived.wait()
        client.writer.write_eof()

        await asyncio.wait_for(w.upstream.left.wait(), 1)
        assert await client.reader.read() == b""


@pytest.mark.parametrize("target", [CHAT, "/v1/files"])
async def test_half_a_close_is_leaving_however_much_is_unread(target):
    """
    A client that has stopped to read cannot keep the model at work by what still waits for it.
    """

    async def pour(request, reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while True:
            writer.write(b"a" * 65_536)
            await writer.drain()

    async with world(pour) as w:
        client = await w.client()
        line = await w.narrowed(client)
        await client.send(b"POST %b HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\n{}" % target.encode())
        await w.upstream.arrived.wait()
        while not line.flow.paused:
            await asyncio.sleep(0.01)
        client.writer.write_eof()

        await asyncio.wait_for(w.upstream.left.wait(), 1)
        client.writer.transport.abort()


async def test_a_client_that_does_not_read_its_answers_is_asked_for_no_more_of_them():
    """
    However many requests it has written: what waits to be sent stays small, and all are answered once it reads.
    """
    asked = 5_000
    last = b"GET /healthz HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n"
    async with world() as w:
        client = await w.client()
        line = await w.narrowed(client)
        client.writer.write(b"GET /healthz HTTP/1.1\r\nHost: p\r\n\r\n" * asked + last)
        while not line.flow.paused:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)
        most = line.flow.transport.get_write_buffer_size()
        client.writer.transport.resume_reading()
        answers = await asyncio.wait_for(client.reader.read(), 30)

        assert most < 100_000
        assert answers.count(b"HTTP/1.1 200 OK\r\n") == asked + 1


HANDSHAKE = b"GET /v1/realtime HTTP/1.1\r\nHost: p\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


async def test_frames_that_came_with_the_handshake_reach_the_upstream():
    """
    A hasty client does not wait for the switch.
    """
    said = asyncio.get_running_loop().create_future()

    async def script(request, reader, writer):
        writer.write(SWITCH)
        said.set_result(await reader.readexactly(9))
        writer.close()

    async with world(script) as w:
        client = await w.client()
        await client.send(HANDSHAKE + b"early")
        await client.head()
        await client.send(b"late")

        assert await asyncio.wait_for(said, 2) == b"earlylate"


async def test_a_request_behind_a_refused_handshake_is_served():
    """
    What came early was HTTP after all.
    """
    async with world(plain(b"plain")) as w:
        client = await w.client()
        await client.send(HANDSHAKE + post())
        answers = [await client.answer() for _ in range(2)]

        assert [answer.body for answer in answers] == [b"plain", b"plain"]
        assert [one.method for one in w.upstream.received] == ["GET", "POST"]


@pytest.mark.parametrize("raw", [post, chunked], ids=["stated", "chunked"])
async def test_an_offer_of_http_2_is_passed_over(raw):
    """
    Java's client makes one with its first request, whose body is read all the same.
    """
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAA\r\n"
    async with world(echo) as w:
        client = await w.client()
        await client.send(raw(body=b'{"a":1}', headers=offer) + raw(body=b"next"))
        answers = [await client.answer() for _ in range(2)]

        assert [answer.body for answer in answers] == [b'{"a":1}', b"next"]
        assert w.upstream.received[0].header("upgrade") is None


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("protocol", [b"", b"Upgrade: websocket\r\n", b"Upgrade: h2c\r\n"])
async def test_nobody_is_switched_who_did_not_ask(method, protocol):
    """
    An upstream that speaks another protocol unasked has given no answer, and its connection ends.
    """
    switch = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n%b\r\nframes" % protocol
    async with world(says(switch)) as w:
        answer = await w.ask(method, CHAT, body=b"{}" if method == "POST" else None)

        assert (answer.status, answer.complete) == (502, True)
        await asyncio.wait_for(w.upstream.left.wait(), 1)


async def test_nobody_is_switched_to_what_was_not_asked_for():
    """
    A client that asked for WebSocket is not given HTTP/2.
    """
    async with world(says(SWITCH.replace(b"websocket", b"h2c") + b"frames")) as w:
        client = await w.client()
        await client.send(HANDSHAKE)

        assert (await client.answer()).status == 502


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (
            b"GET /v1/models HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: p\r\n\r\n",
            400,
        ),
        (b"POST /v1/chat/completions HTTP/1.0\r\nHost: p\r\n\r\n{}", 400),
        (b"POST %b HTTP/1.1\r\nHost: p\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}{}" % CHAT.encode(), 400),
        (b"GET /v1/models HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n\r\n", 200),
    ],
    ids=["a request", "a body of no length", "a body too long", "a blank line"],
)
async def test_nothing_may_stand_behind_a_last_request(raw, status):
    """
    Who says that this was all and goes on is misunderstood by somebody; only blank lines are harmless.
    """
    async with world() as w:
        client = await w.client()
        await client.send(raw)
        answer = await client.answer()

        assert (answer.status, len(w.upstream.received)) == (status, int(status == 200))
        assert answer.header("connection") == "close"
        assert await client.reader.read() == b""


async def test_a_client_that_says_close_is_closed():
    """
    Also where its request has no body.
    """
    async with world() as w:
        client = await w.client()
        answer = await client.ask("GET", "/v1/models", headers=b"Connection: close\r\n")

        assert (answer.status, answer.header("connection")) == (200, "close")
        assert await asyncio.wait_for(client.reader.read(), 2) == b""


async def test_a_refusal_ends_the_wait_for_a_go_ahead():
    """
    A client that was refused before it was told to send its body may never send it: the connection ends.
    """
    async with world(limits=LimitsSettings(max_body=10)) as w:
        client = await w.client()
        head = b"POST %b HTTP/1.1\r\nHost: p\r\nExpect: 100-continue\r\nContent-Length: 99\r\n\r\n" % CHAT.encode()
        await client.send(head)
        answer = await client.answer()

        assert (answer.status, answer.header("connection"), w.upstream.received) == (413, "close", [])
        assert await client.reader.read() == b""


async def test_a_refused_body_that_is_sent_after_all_is_read_away():
    """
    The connection serves the next request; no byte of the body passes for one.
    """
    async with world(limits=LimitsSettings(max_body=10)) as w:
        client = await w.client()
        body = b"GET /v1/models HTTP/1.1\r\nHost: p\r\n\r\n"
        raw = post(body=body)
        await client.send(raw[: -len(body)])
        refused = await client.answer()
        await client.send(body + post())
        answer = await client.answer()

        assert (refused.status, answer.status) == (413, 200)
        assert [one.method for one in w.upstream.received] == ["POST"]


async def test_trailers_end_with_their_request():
    """
    They are no headers of the next one.
    """
    async with world() as w:
        client = await w.client()
        await client.send(chunked(b"{}", trailers=b"Authorization: Bearer theirs\r\n") + post())
        for _ in range(2):
            await client.answer()

        assert [one.header("authorization") for one in w.upstream.received] == [None, None]


@pytest.mark.parametrize("endless", [b"1;" + b"x" * 200_000, b"0\r\n" + b"T: a\r\n" * 40_000])
async def test_chunks_that_never_come_to_the_point_are_refused(endless):
    """
    Extensions and trailers carry nothing for us, and have no length of their own.
    """
    async with world() as w:
        client = await w.client()
        await client.send(
            b"POST %b HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n" % CHAT.encode() + endless
        )
        answer = await client.answer()

        assert (answer.status, orjson.loads(answer.body)["error"]["code"]) == (400, "invalid_body")


@pytest.mark.parametrize("body", [b"zz\r\n", chunk(b"some") + b"\r\nzz\r\n"])
async def test_a_broken_upload_is_the_clients_mistake(body):
    """
    Not the upstream's, which saw it break off; and nothing behind it is read as a request.
    """
    async with world() as w:
        client = await w.client()
        head = b"POST /v1/files HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n"
        await client.send(head + body + b"GET /v1/models HTTP/1.1\r\nHost: p\r\n\r\n")
        answer = await client.answer()

        assert (answer.status, answer.header("connection"), w.upstream.received) == (400, "close", [])
        assert await client.reader.read() == b""


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /v1/models HTTP/1.1\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: p\r\nHost: q\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: p\r\nX: a\r\n folded\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: p\r\nX: a\rb\r\n\r\n",
        b"GET /v1/models HTTP/1.1\nHost: p\n\n",
        b"get /v1/models HTTP/1.1\r\nHost: p\r\n\r\n",
        b"BREW /v1/models HTTP/1.1\r\nHost: p\r\n\r\n",
        b"GET /v1/models HTTP/2.0\r\nHost: p\r\n\r\n",
        b"GET /v1/models\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: p\r\n: nameless\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: p\r\nX Y: z\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /v1/files HTTP/1.0\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/files HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/files HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/files HTTP/1.1\r\nHost: p\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: x\r\n\r\n",
        b"POST /v1/files HTTP/1.1\r\nHost: p\r\nContent-Length: +2\r\n\r\n{}",
        b"POST /v1/files HTTP/1.1\r\nHost: p\r\nContent-Length: 2, 2\r\n\r\n{}",
        b"POST /v1/files HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /v1/files HTTP/1.1\r\nHost: p\r\nContent-Length: %b2\r\n\r\n{}" % (b"0" * 5_000),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=range(21),
)
async def test_what_is_not_plainly_one_request_is_refused(raw):
    """
    At once, in OpenAI's shape, without a word of the request in it; the connection is closed and nothing forwarded.
    """
    async with world() as w:
        client = await w.client()
        await client.send(raw)
        answer = await asyncio.wait_for(client.answer(), 2)

        assert (answer.status, answer.header("server"), answer.header("connection")) == (400, "concertina", "close")
        assert orjson.loads(answer.body)["error"]["message"] == "The request is no valid HTTP."
        assert (await client.reader.read(), w.upstream.received) == (b"", [])


@pytest.mark.parametrize(
    "filler",
    [
        b"X-Long: " + b"a" * 3000 + b"\r\n",
        b"".join(b"X-%d: a\r\n" % n for n in range(200)),
        b"X-Endless: " + b"a" * 70_000,
    ],
    ids=["a long line", "many lines", "a line without end"],
)
async def test_a_head_too_large_is_told_so(filler):
    """
    431, be it by bytes or by number, and also before its end.
    """
    limits = LimitsSettings(headers=1500) if filler.startswith(b"X-Long") else LimitsSettings()
    async with world(limits=limits) as w:
        client = await w.client()
        await client.send(b"GET /v1/models HTTP/1.1\r\nHost: p\r\n" + filler + b"\r\n\r\n")
        answer = await client.answer()

        assert (answer.status, orjson.loads(answer.body)["error"]["code"]) == (431, "headers_too_large")


async def test_a_head_in_single_bytes_is_whole():
    """
    After the blank lines that some clients leave behind a body.
    """
    async with world() as w:
        client = await w.client()
        for byte in b"\r\n\r\n" + post(headers=b"X-Empty:\r\nX-Odd: \t a b \t\r\n"):
            await client.send(bytes([byte]))
            await asyncio.sleep(0)
        answer = await client.answer()

        received = w.upstream.received[0]
        assert (answer.status, received.header("x-empty"), received.header("x-odd")) == (200, "", "a b")


async def test_a_chat_body_may_not_be_silent_for_ever():
    """
    408 tells that it was waited for; one that comes slowly but steadily is waited for.
    """
    async with world(echo, limits=LimitsSettings(header_timeout=0.3)) as w:
        steady, silent = await w.client(), await w.client()
        raw = post(body=b"12345678")
        await silent.send(raw[:-1])
        await steady.send(raw[:-8])
        for byte in b"12345678":
            await steady.send(bytes([byte]))
            await asyncio.sleep(0.1)
        answers = [await client.answer() for client in (steady, silent)]

        assert [answer.status for answer in answers] == [200, 408]


async def test_a_kept_connection_is_patient_with_its_next_head_alone():
    """
    Between requests it may rest; a head that has begun has to end.
    """
    async with world(limits=LimitsSettings(header_timeout=0.1)) as w:
        client = await w.client()
        await client.ask("GET", "/v1/models")
        await asyncio.sleep(0.5)
        rested = await client.ask("GET", "/v1/models")
        await client.send(b"GET /v1/mod")

        assert rested.status == 200
        assert await asyncio.wait_for(client.reader.read(), 5) == b""


async def test_an_upload_is_read_at_the_upstreams_pace():
    """
    What the upstream does not take, the client cannot send: no buffer of ours grows instead.
    """
    going = asyncio.Event()

    async def script(request, reader, writer):
        await going.wait()
        left = 64 * 2**20
        while left:
            left -= len(await reader.read(2**20))
        await plain(b"all")(request, reader, writer)

    async with world(script) as w:
        w.upstream.read_bodies = False
        client = await w.client()
        raw = post("/v1/files", bytes(64 * 2**20))
        sending = asyncio.ensure_future(client.send(raw))
        await asyncio.sleep(0.3)
        waiting = client.writer.transport.get_write_buffer_size()
        going.set()
        await sending
        answer = await client.answer()

        assert (waiting > 16 * 2**20, answer.body) == (True, b"all")


async def test_an_answer_that_breaks_off_in_http_1_0_is_reset():
    """
    There a plain end would be the regular one; so is what is cut at the end of a drain.
    """

    async def script(request, reader, writer):
        writer.write(STREAM_HEAD + chunk(b"data: 1\n\n"))
        await reader.read()

    async with world(script) as w:
        client = await w.client()
        await client.send(b"POST %b HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}" % CHAT.encode())
        await client.read_until(b"data: 1\n\n")
        await w.listening.stop(drain=0.05)

        with pytest.raises(ConnectionResetError):
            await client.reader.read()


async def test_a_body_that_breaks_off_behind_its_answer_ends_the_connection():
    """
    Nobody waits for its end any more, and no timer runs that would close it later.
    """
    async with world() as w:
        client = await w.client()
        await client.send(chunked(b"hello", "/healthz")[:-7])
        answered = await client.answer()
        await client.send(b"this is no chunk\r\n")

        assert answered.status == 200
        assert await asyncio.wait_for(client.reader.read(), 2) == b""
