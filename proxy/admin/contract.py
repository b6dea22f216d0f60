"""
What the admin port asks of the proxy behind it: narrow queries that return plain values, fit to cross a process border.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

Json = dict[str, Any]
"""A JSON object."""


class AdminSource(Protocol):
    """
    One process of the proxy, or all of them together (``fanout``).
    """

    async def metrics(self) -> str:
        """
        Return all metrics as Prometheus text.
        """
        ...

    async def stats(self) -> Json:
        """
        Return sums by route and model, refusals, stores and summaries.
        """
        ...

    async def windows(self) -> list[Json]:
        """
        Return the window and the token ratio of each (upstream, model, credential), and where they come from.
        """
        ...

    async def sessions(self, limit: int) -> list[Json]:
        """
        Return the sessions begun last, newest first.
        """
        ...

    async def session(self, session_id: str) -> Json | None:
        """
        Return one session with those it continues and the newest exchanges under it.
        """
        ...

    async def drop(self, session_id: str) -> bool:
        """
        Forget the record of a session; tell whether there was one.
        """
        ...

    async def mark(self, target: str) -> str | None:
        """
        Have the next request of a session, or of the conversation of an exchange, compacted.

        Return the key that was marked, which any process understands, or ``None`` where *target* is unknown.
        """
        ...

    async def exchanges(self, limit: int) -> list[Json]:
        """
        Return the canonical events of the exchanges that ended last, newest first.
        """
        ...

    async def exchange(self, request_id: str) -> Json | None:
        """
        Return the canonical event of one exchange by any of its ids.
        """
        ...

    async def view(self, session_id: str) -> Json | None:
        """
        Return what went into the compaction that began a session and what was sent; ``None`` where it was not kept.
        """
        ...

    async def explain(self, body: bytes) -> Json:
        """
        Say what would be done to a request. Raises ``BadRequestError``.
        """
        ...

    def follow(self) -> AsyncIterator[Json]:
        """
        Yield each canonical event as its exchange ends.
        """
        ...
