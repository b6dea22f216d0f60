"""
Kept-alive connections to upstreams: used again where that is safe, never where the server may have closed them.
"""

import socket
import threading
import time

import pytest

from proxy.upstream.client import UpstreamClient
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.wire import Outgoing
from tests.support.edge import CHAT, STREAM_HEAD, chunk, plain, world
from tests.support.llama import running_llama

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Hasty:
    """
    A server in a thread, whose connections can be closed while the proxy's loop is busy.
    """

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        self.connections: list[socket.socket] = []
        self.requests = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        while True:
            try:
                if not connection.recv(65_536):
                    return
                self.requests += 1
                connection.sendall(ANSWER)
            except OSError:
                return

    def stop(self) -> None:
        self.listener.close()
        for connection in self.connections:
            connection.close()


@pytest.fixture
def hasty():
    """
    One such server.
    """
    server = Hasty()
    yield server
    server.stop()


async def test_never_writes_to_a_connection_that_the_upstream_has_closed_unseen(hasty):
    """
    The server closed while the loop was busy, so nobody has read the end yet: a new connection is made, once.
    """
    client = UpstreamClient({"up": UpstreamSettings(base_url=hasty.url)})
    post = Outgoing("up", "POST", hasty.url + "/chat/completions", (("Content-Length", "2"),), b"{}")
    try:
        for _ in range(5):
            answer = await client.send(post)
            await answer.read()
            hasty.connections[-1].shutdown(socket.SHUT_RDWR)
            time.sleep(0.02)  # the loop must not get round to reading the end
    finally:
        await client.close()

    assert (answer.status, hasty.requests, len(hasty.connections)) == (200, 5, 5)


async def test_never_uses_a_plain_connection_again_after_an_event_stream():
    """
    Small servers close right after the last chunk, whatever they promise.
    """

    async def script(request, reader, writer):
        writer.write(STREAM_HEAD + chunk(b"data: 1\n\n") + b"0\r\n\r\n")

    async with world(script) as w:
        client = await w.client()
        for _ in range(3):
            await client.ask("POST", CHAT, body=b'{"stream": true}')

        assert w.upstream.connections == 3


@pytest.mark.parametrize(
    ("promise", "connections"), [(b"timeout=1", 3), (b"timeout=30, max=100", 1), (b"max=5", 1), (b"timeout=soon", 1)]
)
async def test_heeds_how_long_a_server_keeps_a_connection(promise, connections):
    """
    A second less than promised, so that a promise of one second is none.
    """
    async with world(plain(headers=b"Keep-Alive: %b\r\n" % promise)) as w:
        client = await w.client()
        for _ in range(3):
            await client.ask("POST", CHAT, body=b"{}")

        assert w.upstream.connections == connections


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.timeout(280)
async def test_loses_no_request_between_the_streams_of_a_real_server(proxy_factory):
    """
    llama.cpp closes a tenth of a millisecond after a stream: requests written at once, or soon, all get their answer.
    """
    with running_llama(context=1_024) as url:
        proxied = await proxy_factory(url)
        statuses = []
        for _ in range(20):
            reply = await proxied.chat([{"role": "user", "content": "hi"}], stream=True, max_tokens=2)
            statuses.append(reply.status)

    assert statuses == [200] * 20
