"""
The one parse of a request's body.
"""

from __future__ import annotations

import asyncio

from proxy.chat.request import ChatRequest

OFF_LOOP_BYTES = 100_000
"""Bodies above this are parsed and counted in a thread."""


async def view(body: bytes) -> ChatRequest | None:
    """
    Return the view of a chat request, ``None`` where the body is nothing we understand.
    """
    if len(body) > OFF_LOOP_BYTES:
        return await asyncio.to_thread(ChatRequest.parse, body)
    return ChatRequest.parse(body)
