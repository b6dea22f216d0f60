"""
The process: signals, and ports that workers share.
"""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

from proxy.server.app import Edge
from proxy.server.run import Listening
from proxy.server.settings import LimitsSettings
from tests.support.edge import plain, world

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from proxy.server.app import Edge
from proxy.server.run import Listening, run, until_signal
from proxy.server.settings import LimitsSettings

async def main():
    listening = Listening(Edge(None, limits=LimitsSettings()))
    _, port = await listening.start("127.0.0.1", 0)
    print(port, flush=True)
    await until_signal(lambda: listening.stop(drain=1))
    print("left in order", flush=True)

run(main())
"""


async def test_leaves_in_order_on_sigterm():
    """
    The port closes, what was asked to run after the drain runs, and the exit code is 0.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert process.stdout is not None
    port = int(await process.stdout.readline())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: p\r\n\r\n")
    healthy = await reader.readline()
    process.send_signal(signal.SIGTERM)
    rest = await process.stdout.read()
    writer.close()

    assert (healthy, rest, await process.wait()) == (b"HTTP/1.1 200 OK\r\n", b"left in order\n", 0)


async def test_an_answer_begun_before_the_end_says_that_it_is_the_last():
    """
    A client that heard nothing of it would send its next request on a connection about to be closed, and lose it.
    """
    go_on = asyncio.Event()

    async def later(request, reader, writer):
        await go_on.wait()
        await plain()(request, reader, writer)

    async with world(later) as w:
        client = await w.client()
        asking = asyncio.ensure_future(client.ask("GET", "/v1/models"))
        await w.upstream.arrived.wait()
        stopping = asyncio.ensure_future(w.listening.stop(drain=30))
        await asyncio.sleep(0)
        go_on.set()
        answer = await asking
        await stopping

        assert (answer.status, answer.header("connection")) == (200, "close")


async def test_an_answer_that_is_still_on_its_way_at_the_end_is_whole():
    """
    What has been written is not with a slow client yet, and the drain is for that, too.
    """
    body = b"a" * 50_000
    async with world(plain(body)) as w:
        narrow = socket.socket()
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        narrow.connect(("127.0.0.1", w.port))
        reader, writer = await asyncio.open_connection(sock=narrow, limit=4096)
        while not (opened := w.listening._connections.opened):
            await asyncio.sleep(0.01)
        (line,) = opened
        line.flow.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        writer.write(b"GET /v1/models HTTP/1.1\r\nHost: p\r\n\r\n")
        await w.upstream.arrived.wait()
        while w.edge.inflight:
            await asyncio.sleep(0.01)
        assert line.flow.transport.get_write_buffer_size() > 10_000
        stopping = asyncio.ensure_future(w.listening.stop(drain=30))
        await asyncio.sleep(0.5)
        got = await asyncio.wait_for(reader.read(), 20)
        await stopping
        writer.close()

        assert got.partition(b"\r\n\r\n")[2] == body


async def test_lets_workers_share_a_port():
    """
    The kernel spreads connections over all that listen.
    """
    first, second = (Listening(Edge(None, limits=LimitsSettings())) for _ in range(2))
    host, port = await first.start("127.0.0.1", 0, reuse_port=True)
    same = await second.start(host, port, reuse_port=True)
    await first.stop()
    await second.stop()

    assert same == (host, port)
