"""
A WebSocket between client and upstream, whose frames we do not look into.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

from proxy.server.flow import Flow
from proxy.server.reply import Reply
from proxy.server.request import Request
from proxy.upstream.tunnel import Switched

_SLICE = 64 * 1024


async def tunnel(request: Request, switched: Switched, reply: Reply) -> bool:
    """
    Copy bytes both ways until one side ends; then end the other. Returns that no other request can follow.
    """
    transport = request.transport
    try:
        if request.unread or not request.upgrade:
            # The rest of a body would pass for frames, or nobody asked for them.
            return await reply.abort()
        reply.switch(switched.status, switched.reason, switched.headers)
        from_client = asyncio.StreamReader(limit=_SLICE)
        from_client.set_transport(cast("asyncio.Transport", _Pace(reply.flow)))
        from_client.feed_data(request.line.hand_over(from_client.feed_data))

        async def to_client(data: bytes) -> None:
            transport.write(data)
            await reply.drain()

        await _first_to_end(_copy(from_client, switched.write), _copy(switched.reader, to_client))
        reply.flow.close()
    finally:
        switched.close()
    return False


class _Pace:
    """
    What a stream reader asks of a transport, so that a client is held back here as everywhere: and seen when it leaves.
    """

    def __init__(self, flow: Flow) -> None:
        self.pause_reading = flow.hold
        self.resume_reading = flow.release


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
