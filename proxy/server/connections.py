"""
All connections of the clients: how one is made, which are open, and how all of them end.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from proxy.server.connection import Connection, Serve
from proxy.server.settings import LimitsSettings


class Connections:
    """
    Makes the protocol of each connection, and knows those that are open.
    """

    def __init__(self, serve: Serve, limits: LimitsSettings) -> None:
        self._serve = serve
        self._limits = limits
        self.opened: set[Connection] = set()
        self._empty = asyncio.Event()

    def __call__(self) -> Connection:
        """
        Make the protocol of a new connection.
        """
        return Connection(self._serve, self._limits, made=self.opened.add, lost=self._gone)

    async def close(self, patience: float) -> None:
        """
        Cut what is still running; what has been written may go out for *patience* seconds.
        """
        tasks = [one.task for one in self.opened if one.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=patience)
        for one in tuple(self.opened):
            one.close()
        if self.opened:
            self._empty.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), patience)
        for one in tuple(self.opened):
            one.flow.transport.abort()

    def _gone(self, connection: Connection) -> None:
        self.opened.discard(connection)
        if not self.opened:
            self._empty.set()
