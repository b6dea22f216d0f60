"""
The source of several processes: asks all of them, and tells what they say as one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

from proxy.admin.contract import Json
from proxy.admin.merge import best_rows, merged_stats
from proxy.admin.questions import FOLLOW, Details


class Asks(Protocol):
    """
    The processes that serve clients; each answers the questions of ``questions``.
    """

    async def ask(self, question: str, details: Details) -> Any:
        """
        Return the answer of one of them.
        """
        ...

    async def ask_all(self, question: str, details: Details) -> Sequence[Any]:
        """
        Return the answers of all that answer in time.
        """
        ...

    def follow(self, stream: str) -> AsyncIterator[Any]:
        """
        Yield what all of them tell.
        """
        ...

    async def metrics(self) -> bytes:
        """
        Return the metrics of all of them together.
        """
        ...


class MergedSource:
    """
    Answers for all processes.
    """

    def __init__(self, processes: Asks) -> None:
        self._processes = processes

    async def metrics(self) -> str:
        """
        Return the sums.
        """
        return (await self._processes.metrics()).decode()

    async def stats(self) -> Json:
        """
        Return the sums.
        """
        return merged_stats(await self._all("stats"))

    async def windows(self) -> list[Json]:
        """
        Return what the process with the most samples knows of each model.
        """
        rows = await self._all("windows")
        return best_rows(rows, by=("upstream", "model", "credential"), best=lambda row: row.get("samples") or 0)

    async def sessions(self, limit: int) -> list[Json]:
        """
        Return the newest sessions; a shared store tells each of them several times.
        """
        rows = await self._all("sessions", limit=limit)
        return _newest(best_rows(rows, by=("id",), best=lambda row: row.get("ended") or 0), "started", limit)

    async def session(self, session_id: str) -> Json | None:
        """
        Return a session with its exchanges in every process.
        """
        found = [one for one in await self._all("session", id=session_id) if one is not None]
        if not found:
            return None
        exchanges = [event for one in found for event in one["exchanges"]]
        return {**found[0], "exchanges": _newest(exchanges, "at", len(exchanges))}

    async def drop(self, session_id: str) -> bool:
        """
        Have it forgotten everywhere: each process may have a store of its own.
        """
        return any(await self._all("drop", id=session_id))

    async def mark(self, target: str) -> str | None:
        """
        Mark in every process, since nobody knows which gets the next request; only one may know the exchange.
        """
        key = next((key for key in await self._all("mark", target=target) if key is not None), None)
        if key is not None:
            await self._all("mark", target=key)
        return key

    async def exchanges(self, limit: int) -> list[Json]:
        """
        Return the newest events of all.
        """
        lists = await self._all("exchanges", limit=limit)
        return _newest([event for events in lists for event in events], "at", limit)

    async def exchange(self, request_id: str) -> Json | None:
        """
        Return the event from whichever process had it.
        """
        found = [event for event in await self._all("exchange", id=request_id) if event is not None]
        return max(found, key=lambda event: event.get("at") or 0, default=None)

    async def view(self, session_id: str) -> Json | None:
        """
        Return the view from whichever process has it.
        """
        return next((view for view in await self._all("view", id=session_id) if view is not None), None)

    async def explain(self, body: bytes) -> Json:
        """
        Ask one: the answer of each is the same.
        """
        return dict(await self._processes.ask("explain", {"body": body.decode("utf-8", "replace")}))

    def follow(self) -> AsyncIterator[Json]:
        """
        Yield the events of all.
        """
        return self._processes.follow(FOLLOW)

    async def _all(self, question: str, **details: Any) -> Sequence[Any]:
        return await self._processes.ask_all(question, details)


def _newest(rows: list[Json], name: str, limit: int) -> list[Json]:
    return sorted(rows, key=lambda row: row.get(name) or 0, reverse=True)[:limit]
