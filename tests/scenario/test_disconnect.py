"""
A client that leaves takes its upstream call along, at every stage, and leaves nothing behind.
"""

import asyncio

import pytest
from structlog.testing import capture_logs

import proxy.server.app
from proxy.server.receive import incoming
from proxy.upstream.wire import Answer
from tests.support.edge import CHAT, STREAM_HEAD, chunk, never_blocks, world

pytestmark = pytest.mark.usefixtures("never_blocks")
__all__ = ["never_blocks"]

STREAM = b'{"stream": true}'


async def hang(request, reader, writer):
    await reader.read()


async def drip(request, reader, writer):
    writer.write(STREAM_HEAD + chunk(b"data: 1\n\n"))
    await writer.drain()
    await reader.read()


async def ask(w, body=b"{}", target=CHAT):
    client = await w.client()
    await client.send(
        b"POST %b HTTP/1.1\r\nHost: p\r\nContent-Length: %d\r\n\r\n%b" % (target.encode(), len(body), body)
    )
    await w.upstream.arrived.wait()
    return client


@pytest.mark.parametrize("body", [b"{}", STREAM])
@pytest.mark.parametrize("target", [CHAT, "/v1/responses"])
async def test_cancels_a_call_whose_answer_has_not_begun(body, target):
    """
    Streaming or not, the upstream sees its connection end within a second.
    """
    async with world(hang) as w:
        client = await ask(w, body, target)
        await client.leave()

        await asyncio.wait_for(w.upstream.left.wait(), 1)


async def test_cancels_a_running_stream():
    """
    A client that has seen enough stops the model.
    """
    async with world(drip) as w:
        client = await ask(w, STREAM)
        await client.read_until(b"data: 1\n\n\r\n")
        await client.leave()

        await asyncio.wait_for(w.upstream.left.wait(), 1)


async def test_cancels_a_call_that_is_kept_alive_by_comments():
    """
    The same once comments have been written.
    """
    async with world(hang, keepalive_after=0.02) as w:
        client = await ask(w, STREAM)
        await client.read_until(b": concertina\n\n\r\n")
        await client.leave()

        await asyncio.wait_for(w.upstream.left.wait(), 1)


async def test_cancels_a_stream_that_the_client_does_not_read():
    """
    Full buffers do not hide that the client has gone.
    """

    async def flood(request, reader, writer):
        writer.write(STREAM_HEAD)
        while True:
            writer.write(chunk(b"x" * 100_000))
            await writer.drain()

    async with world(flood) as w:
        client = await ask(w, STREAM)
        await client.read_until(b"x")
        client.writer.transport.abort()

        await asyncio.wait_for(w.upstream.left.wait(), 1)


async def test_cancels_an_upload_whose_client_leaves():
    """
    Half a file is not completed by the proxy.
    """
    async with world() as w:
        client = await w.client()
        await client.send(b"POST /v1/files HTTP/1.1\r\nHost: p\r\nContent-Length: 1000000\r\n\r\nhalf")
        while not w.upstream.connections:
            await asyncio.sleep(0.01)
        await client.leave()

        await asyncio.wait_for(w.upstream.left.wait(), 1)


async def test_leaves_no_task_behind():
    """
    Twenty clients that left leave as many tasks as there were before.
    """
    async with world(hang) as w:
        before = asyncio.all_tasks()
        for _ in range(20):
            w.upstream.arrived.clear()
            await (await ask(w, STREAM)).leave()
        while asyncio.all_tasks() - before:
            await asyncio.sleep(0.01)

        assert w.edge.inflight == 0


async def test_cancels_the_waiting_handler_itself():
    """
    Whatever the pipeline waits for, a summary above all, is told that the client has gone.
    """
    waiting = asyncio.Event()
    cancelled = asyncio.Event()

    class Waiting:
        async def chat(self, incoming):
            waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

    async with world(handler=lambda _: Waiting()) as w:
        client = await w.client()
        await client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\n{}")
        await waiting.wait()
        await client.leave()

        await asyncio.wait_for(cancelled.wait(), 1)


async def test_leaving_in_the_moment_of_the_answer_is_no_fault(monkeypatch):
    """
    The answer finds nobody; no event calls that a fault of the edge.
    """
    served = asyncio.Event()

    def gone(request, *rest):
        asyncio.get_running_loop().call_soon(served.set)
        request.transport.abort()
        return incoming(request, *rest)

    class Quick:
        async def chat(self, _):
            return Answer.of_bytes(200, (), b"{}")

    monkeypatch.setattr(proxy.server.app, "incoming", gone)
    async with world(handler=lambda _: Quick()) as w:
        with capture_logs() as events:
            client = await w.client()
            await client.send(b"POST %b HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\n{}" % CHAT.encode())
            await served.wait()
            assert await client.reader.read() == b""
            await w.edge.idle.wait()

    assert events == []
