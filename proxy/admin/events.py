"""
Server-sent events: each exchange as it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from aiohttp import web

from proxy.admin.answers import refusal
from proxy.admin.contract import AdminSource, Json
from proxy.chat.sse import comment, data_event

MOST_FOLLOWERS = 50
BEAT_SECONDS = 15.0
"""A comment this often keeps the line alive and finds out that the browser has left."""
BEAT = comment("concertina")


class Events:
    """
    Follows the source for each browser that asks.
    """

    def __init__(self, source: AdminSource) -> None:
        self._source = source
        self._following: set[asyncio.Task[object]] = set()

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """
        Send events until the browser leaves or the port closes.
        """
        if len(self._following) >= MOST_FOLLOWERS:
            return refusal(503, "Too many are following already.", "too_many_followers")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
        await response.prepare(request)
        me = asyncio.current_task()
        assert me is not None
        self._following.add(me)
        try:
            with suppress(ConnectionError):
                await _send(self._source.follow(), response)
        finally:
            self._following.discard(me)
        return response

    async def close(self, _: web.Application) -> None:
        """
        End every stream: browsers would hold the port open for ever.
        """
        for task in tuple(self._following):
            task.cancel()


async def _send(events: AsyncIterator[Json], response: web.StreamResponse) -> None:
    await response.write(BEAT)
    coming = asyncio.ensure_future(anext(events))
    try:
        while True:
            # Waited for from outside: a timeout within would end the generator.
            done, _ = await asyncio.wait({coming}, timeout=BEAT_SECONDS)
            if not done:
                await response.write(BEAT)
                continue
            event = coming.result()
            coming = asyncio.ensure_future(anext(events))
            await response.write(data_event(event))
    finally:
        coming.cancel()
        with suppress(asyncio.CancelledError, StopAsyncIteration):
            await coming
