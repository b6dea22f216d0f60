"""
Work in threads, of which what is heavy takes turns: several at once would only share the interpreter, and their memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
HEAVY_BYTES = 4 * 1024 * 1024
"""Bodies from this size on wait for each other, so that the first is answered while the last still waits."""


class Turns:
    """
    Runs work beside the event loop.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def run(self, size: int, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """
        Return what *work* on *size* bytes returns.
        """
        if size < HEAVY_BYTES:
            return await asyncio.to_thread(work, *args, **kwargs)
        await self._turn.acquire()
        # The turn is the thread's, which goes on where nobody waits for it any more.
        working = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
        working.add_done_callback(self._over)
        return await asyncio.shield(working)

    def _over(self, working: asyncio.Future[T]) -> None:
        self._turn.release()
        if not working.cancelled():
            working.exception()  # asked for, since whoever was to be told may have left
