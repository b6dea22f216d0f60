"""
Listen, and leave in good order: what runs may end, what is new is turned away.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress

from aiohttp import web

from proxy.server.app import Edge

try:
    import uvloop
except ImportError:  # there is none on Windows
    new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
else:
    new_loop = uvloop.new_event_loop

_BACKLOG = 1024
_LAST_SECONDS = 1.0


class Listening:
    """
    An edge that accepts connections.
    """

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._runner = web.ServerRunner(edge.connections(), shutdown_timeout=_LAST_SECONDS)

    async def start(self, host: str, port: int, *, reuse_port: bool = False) -> tuple[str, int]:
        """
        Listen and return the address; port 0 takes a free one, *reuse_port* lets worker processes share it.
        """
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, backlog=_BACKLOG, reuse_port=reuse_port or None)
        await site.start()
        address = self._runner.addresses[0]
        return str(address[0]), int(address[1])

    async def stop(self, *, drain: float = 0.0) -> None:
        """
        Stop accepting, give running exchanges *drain* seconds to end, then cut them.
        """
        self._edge.draining = True
        for site in list(self._runner.sites):
            await site.stop()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._edge.idle.wait(), drain)
        await self._runner.cleanup()


async def until_signal(stop: Callable[[], Awaitable[None]]) -> None:
    """
    Wait for SIGTERM or SIGINT, then *stop*; a second signal ends the process in the usual hard way.
    """
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    await told.wait()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)
    await stop()


def run(main: Coroutine[object, object, None]) -> None:
    """
    Run *main* on uvloop where there is one.
    """
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main)
