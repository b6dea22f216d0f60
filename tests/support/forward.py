"""
A forward proxy of a few lines: CONNECT to anywhere leads to one server of ours.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Forward:
    """
    Where it listens, and the heads that it was sent; *answer* is what it says to CONNECT.
    """

    to: int
    answer: bytes
    port: int = 0
    heads: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(self.answer)
            await writer.drain()
            if self.answer.split(b" ")[1:2] == [b"200"]:
                away_reader, away_writer = await asyncio.open_connection("127.0.0.1", self.to)
                await asyncio.gather(_copy(reader, away_writer), _copy(away_reader, writer))
        writer.close()


@asynccontextmanager
async def forwarding(
    to: int, *, answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Forward]:
    """
    Run a forward proxy that leads to the port *to*.
    """
    forward = Forward(to, answer)
    server = await asyncio.start_server(forward.serve, "127.0.0.1", 0, ssl=tls)
    forward.port = server.sockets[0].getsockname()[1]
    try:
        yield forward
    finally:
        server.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()
