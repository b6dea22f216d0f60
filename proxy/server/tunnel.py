"""
A WebSocket between client and upstream, whose frames we do not look into.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from proxy.server.reply import Reply, Written
from proxy.upstream.tunnel import Feed, Switched

_SLICE = 64 * 1024


async def tunnel(request: web.BaseRequest, switched: Switched, reply: Reply) -> Written:
    """
    Copy bytes both ways until one side ends; then end the other.
    """
    transport = request.transport
    try:
        if transport is None:
            raise ConnectionResetError("the client has left")
        reply.switch(switched.status, switched.reason, switched.headers)
        feed = Feed(transport)
        # aiohttp types the parser as its own WebSocket reader; it only feeds it.
        request.protocol.set_parser(feed)  # type: ignore[arg-type]

        async def to_client(data: bytes) -> None:
            transport.write(data)
            await reply.drain()

        await _first_to_end(_copy(feed.reader, switched.write), _copy(switched.reader, to_client))
        transport.close()
    finally:
        switched.close()
    return Written(keep_alive=False)


async def _copy(source: asyncio.StreamReader, sink: Callable[[bytes], Awaitable[None]]) -> None:
    while data := await source.read(_SLICE):
        await sink(data)


async def _first_to_end(*copies: Awaitable[None]) -> None:
    running = [asyncio.ensure_future(copy) for copy in copies]
    try:
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for copy in running:
            copy.cancel()
        await asyncio.gather(*running, return_exceptions=True)
