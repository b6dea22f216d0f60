"""
Requests that come before it is known who answers them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable

from proxy.server.contract import Handler
from proxy.upstream.wire import Answer, Incoming


class Held:
    """
    A handler that has requests wait for the one that ``give_to`` names, who then answers them all.
    """

    def __init__(self) -> None:
        self._named = asyncio.Event()
        self._handler: Handler = self

    def give_to(self, handler: Handler) -> None:
        """
        Have *handler* answer what waits.
        """
        self._handler = handler
        self._named.set()

    async def chat(self, incoming: Incoming) -> Answer:
        """
        Wait, and answer a chat completion.
        """
        await self._named.wait()
        return await self._handler.chat(incoming)

    async def forward(self, incoming: Incoming, upload: AsyncIterable[bytes] | None) -> Answer:
        """
        Wait, and answer anything else; its body waits in the connection.
        """
        await self._named.wait()
        return await self._handler.forward(incoming, upload)
