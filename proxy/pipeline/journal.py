"""
The last exchanges of this process, as their canonical events tell them, and whoever follows along.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

Event = Mapping[str, object]
"""The fields of one ``exchange.finished``: plain values, no text of a message, no key."""
IDS = ("id", "client_request_id", "upstream_request_id")
FOLLOWER_KEEPS = 200
"""Events that wait for a follower who reads slowly; older ones go."""


class Entry(NamedTuple):
    """
    One finished exchange; *digest* is that of the whole conversation it carried, empty where none was made.
    """

    event: Event
    digest: str = ""


class Journal:
    """
    A bounded ring; the oldest exchange makes room for the newest.
    """

    def __init__(self, *, keep: int = 1000) -> None:
        self.keep = keep
        self._entries: deque[Entry] = deque(maxlen=keep)
        self._followers: set[asyncio.Queue[Event]] = set()

    def add(self, event: Event, digest: str = "") -> None:
        """
        Take in a finished exchange; never waits for a follower.
        """
        self._entries.append(Entry(event, digest))
        for queue in self._followers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(event)

    def recent(self, limit: int) -> list[Event]:
        """
        Return the exchanges that ended last, newest first.
        """
        newest = reversed(self._entries)
        return [entry.event for entry, _ in zip(newest, range(limit), strict=False)]

    def find(self, request_id: str) -> Entry | None:
        """
        Return the newest exchange of that id: ours, the client's ``x-request-id`` or the upstream's.
        """
        return next((entry for entry in reversed(self._entries) if _is_called(entry.event, request_id)), None)

    async def follow(self) -> AsyncIterator[Event]:
        """
        Yield each exchange as it ends, until the caller has enough.
        """
        queue: asyncio.Queue[Event] = asyncio.Queue(FOLLOWER_KEEPS)
        self._followers.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._followers.discard(queue)


def _is_called(event: Event, request_id: str) -> bool:
    return any(event.get(name) == request_id for name in IDS)
