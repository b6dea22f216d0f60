"""
Any request, any stream and any refusal, through the real proxy between raw sockets: nothing below the threshold changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, assume, example, given, settings

from proxy.recovery.classify import classify
from proxy.recovery.fault import Label
from tests.property.strategies import Failure, chat_bodies, failures, streams
from tests.support.edge import CHAT, STREAM_HEAD, RawUpstream, Received, chunk, says
from tests.support.proxied import ProxyFactory

EXAMPLES = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
ASKED = b'{"model":"sim-model","messages":[{"role":"user","content":"hello"}],"stream":true}'
CURED = {
    Label.CONTEXT_OVERFLOW,
    Label.PAYLOAD_TOO_LARGE,
    Label.LONG_CONTEXT_TIER,
    Label.OUTPUT_CAP,
    Label.IMAGE_TOO_LARGE,
}
ANSWER = b'{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'


@dataclass
class Wire:
    """
    A raw upstream, and the proxy before it.
    """

    upstream: RawUpstream
    url: str
    session: aiohttp.ClientSession

    async def post(self, body: bytes) -> tuple[int, bytes]:
        """
        Return the status and the bytes that a client gets, still compressed where they are.
        """
        headers = {"content-type": "application/json", "authorization": "Bearer k"}
        async with self.session.post(self.url, data=body, headers=headers) as response:
            return response.status, await response.read()

    def answers(self, failure: Failure) -> None:
        """
        Let the upstream refuse.
        """
        lines = "".join(f"{name}: {value}\r\n" for name, value in failure.headers)
        head = f"HTTP/1.1 {failure.status} No\r\n{lines}Content-Length: {len(failure.body)}\r\n\r\n"
        self.upstream.script = says(head.encode() + failure.body)


@pytest.fixture
async def wire(proxy_factory: ProxyFactory) -> AsyncIterator[Wire]:
    """
    Run one proxy for all examples: what one of them leaves behind is met by the next.
    """
    upstream = RawUpstream(says(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)))
    await upstream.start()
    proxied = await proxy_factory(
        f"http://127.0.0.1:{upstream.port}/v1", upstream={"context_window": 1_000_000, "discover": False}
    )
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        yield Wire(upstream, proxied.url.removesuffix("/v1") + CHAT, session)
    await upstream.stop()


@pytest.mark.slow
@EXAMPLES
@given(body=chat_bodies())
async def test_any_request_reaches_the_upstream_byte_for_byte(wire: Wire, body: bytes) -> None:
    """
    Well formed or not, understood or not; and its answer comes back as it was.
    """
    wire.upstream.received.clear()
    told = await wire.post(body)

    assert [request.body for request in wire.upstream.received] == [body]
    assert told == (200, ANSWER)


@pytest.mark.slow
@EXAMPLES
@given(stream=streams())
async def test_any_stream_reaches_the_client_byte_for_byte(wire: Wire, stream: tuple[bytes, list[bytes]]) -> None:
    """
    However the network cuts it.
    """
    whole, chunks = stream

    async def script(request: Received, reader: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        for piece in filter(None, chunks):
            writer.write(chunk(piece))
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")

    wire.upstream.script = script

    assert await wire.post(ASKED) == (200, whole)


@pytest.mark.slow
@EXAMPLES
@given(failure=failures(overflows=False))
@example(failure=Failure(502, (), b"<html>" + b"<!--" * 16_000, b""))
@example(failure=Failure(400, (), b'{"error":{"n_ctx":1e999,"message":"no"}}', b""))
async def test_a_refusal_for_another_reason_reaches_the_client_byte_for_byte(wire: Wire, failure: Failure) -> None:
    """
    With its status, whatever it is: wrapped, cut off, compressed, not UTF-8, or no text; and nothing is tried blindly.
    """
    assume(classify(failure.status, failure.told).label not in CURED)
    wire.upstream.received.clear()
    wire.answers(failure)

    assert await wire.post(ASKED) == (failure.status, failure.body)
    assert len(wire.upstream.received) == 1


@pytest.mark.slow
@EXAMPLES
@given(failure=failures())
async def test_any_refusal_is_told_within_four_tries(wire: Wire, failure: Failure) -> None:
    """
    As the upstream worded it or in OpenAI's shape, never as a fault of ours.
    """
    wire.upstream.received.clear()
    wire.answers(failure)
    status, body = await wire.post(ASKED)

    assert 1 <= len(wire.upstream.received) <= 4
    assert status in {failure.status, 400}
    assert body == failure.body or b'"error"' in body
