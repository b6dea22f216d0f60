"""
Listen, and leave in good order: what runs may end, what is new is turned away.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress

from proxy.server.app import Edge
from proxy.server.ports import BACKLOG

try:
    import uvloop
except ImportError:  # there is none on Windows
    new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
else:
    new_loop = uvloop.new_event_loop

_LAST_SECONDS = 0.2
_ENDING = (signal.SIGTERM, signal.SIGINT)
_HANGUP = getattr(signal, "SIGHUP", None)  # there is none on Windows


class Listening:
    """
    An edge that accepts connections.
    """

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._connections = edge.connections()
        self._servers: list[asyncio.AbstractServer] = []

    async def start(self, host: str, port: int, *, reuse_port: bool = False) -> tuple[str, int]:
        """
        Listen and return the address; port 0 takes a free one, *reuse_port* lets worker processes share it.
        """
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self._connections, host, port, backlog=BACKLOG, reuse_port=reuse_port or None)
        self._servers.append(server)
        address = server.sockets[0].getsockname()
        return str(address[0]), int(address[1])

    async def start_on(self, sockets: Sequence[socket.socket]) -> None:
        """
        Listen on sockets that were opened before this process was started.
        """
        loop = asyncio.get_running_loop()
        for listener in sockets:
            self._servers.append(await loop.create_server(self._connections, sock=listener, backlog=BACKLOG))

    async def stop(self, *, drain: float = 0.0) -> None:
        """
        Stop accepting, give running exchanges *drain* seconds to end, then cut them.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + drain
        self._edge.draining = True
        for server in self._servers:
            server.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._edge.idle.wait(), drain)
        # An answer that has been written is not with its client yet.
        await self._connections.close(max(until - loop.time(), _LAST_SECONDS))


def _ignore() -> None:
    """
    Do nothing: a setting file is not read again.
    """


async def until_signal(
    stop: Callable[[], Awaitable[None]], *, hangup: Callable[[], None] = _ignore, lifeline: int | None = None
) -> None:
    """
    Wait for SIGTERM or SIGINT, then *stop*; a second signal ends the process in the usual hard way.

    SIGHUP calls *hangup* and goes on. *lifeline* is a pipe into which nobody writes: its end is as good as a signal.
    """
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in _ENDING:
        loop.add_signal_handler(number, told.set)
    _on_hangup(hangup)
    if lifeline is not None:
        loop.add_reader(lifeline, told.set)
    await told.wait()
    if lifeline is not None:
        loop.remove_reader(lifeline)
    for number in _ENDING:
        loop.remove_signal_handler(number)
    await stop()


async def until_supervisor(stop: Callable[[], Awaitable[None]], *, hangup: Callable[[], None] = _ignore) -> None:
    """
    Wait for SIGTERM or the end of the parent process, then *stop*.

    A service manager may send SIGTERM to the worker too, beside the supervisor: the second is not a wish for haste.
    """
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, told.set)
    _on_hangup(hangup)
    parent = multiprocessing.parent_process()
    if parent is not None:
        loop.add_reader(parent.sentinel, told.set)
    await told.wait()
    if parent is not None:
        loop.remove_reader(parent.sentinel)
    await stop()


def _on_hangup(hangup: Callable[[], None]) -> None:
    if _HANGUP is not None:
        asyncio.get_running_loop().add_signal_handler(_HANGUP, hangup)


def run(main: Coroutine[object, object, None]) -> None:
    """
    Run *main* on uvloop where there is one.
    """
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main)
