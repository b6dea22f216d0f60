"""
The one parse of a request's body.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from proxy.chat.request import ChatRequest

OFF_LOOP_BYTES = 100_000
"""Bodies above this are parsed and counted in a thread."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """
    Looks into bodies that are nested at most *deepest* levels.
    """

    deepest: int | None = None

    async def view(self, body: bytes) -> ChatRequest | None:
        """
        Return the view of a chat request, ``None`` where the body is nothing we understand, or nested too deeply.
        """
        if len(body) > OFF_LOOP_BYTES:
            return await asyncio.to_thread(ChatRequest.parse, body, deepest=self.deepest)
        return ChatRequest.parse(body, deepest=self.deepest)
