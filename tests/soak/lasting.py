"""
Connections that last as long as the soak: a stream, and sockets whose every byte comes back.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

from proxy.chat.json import dumps
from tests.support.edge import CHAT, STREAM_HEAD, RawClient, Received, chunk

REALTIME = "/v1/realtime"
_HANDSHAKE = (
    f"GET {REALTIME}?model=m HTTP/1.1\r\nHost: p\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
).encode()
_SWITCH = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: a\r\n\r\n"
)
SIZES = (1, 2, 125, 126, 1_400, 65_535, 300_000)
"""Bytes of one message: less and more than a packet, a read and the buffers between."""


class Lasting:
    """
    An upstream, as a script of raw sockets, that counts a second each for a stream and echoes what is upgraded.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    async def __call__(self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """
        Serve one request.
        """
        if request.header("upgrade"):
            await self._echo(reader, writer)
            return
        writer.write(STREAM_HEAD)
        start = asyncio.get_running_loop().time()
        for number in range(int(self.seconds)):
            writer.write(chunk(b'data: {"choices":[{"index":0,"delta":{"content":"%d"}}]}\n\n' % number))
            # By the clock, so that a machine without time makes no longer stream of it.
            await asyncio.sleep(max(start + number + 1 - asyncio.get_running_loop().time(), 0))
        writer.write(b"0\r\n\r\n")

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(_SWITCH)
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()


async def one_long_stream(port: int, seconds: float) -> int:
    """
    Return how many events of one stream were read that lasted as long as the soak.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    client = RawClient(reader, writer)
    body = dumps({"model": "slow", "messages": [{"role": "user", "content": "count"}], "stream": True})
    await client.send(b"POST %b HTTP/1.1\r\nHost: p\r\nContent-Length: %d\r\n\r\n" % (CHAT.encode(), len(body)) + body)
    told = await asyncio.wait_for(client.answer(), seconds + 60)
    await client.leave()
    assert told.complete
    return told.body.count(b"data: ")


async def one_socket(port: int, seconds: float, *, seed: int) -> int:
    """
    Return how many messages came back whole and in order through one upgraded connection that lasted *seconds*.
    """
    draw = random.Random(seed)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    client = RawClient(reader, writer)
    await client.send(_HANDSHAKE)
    assert (await client.head()).status == 101
    until = asyncio.get_running_loop().time() + seconds
    echoed = 0
    while asyncio.get_running_loop().time() < until:
        message = draw.randbytes(draw.choice(SIZES))
        told: list[Any] = await asyncio.wait_for(
            asyncio.gather(reader.readexactly(len(message)), client.send(message)), 60
        )
        assert told[0] == message
        echoed += 1
        await asyncio.sleep(draw.choice((0, 0.1, 1)))
    await client.leave()
    return echoed
