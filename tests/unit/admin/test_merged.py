"""
Several processes shown as one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from proxy.admin.merged import MergedSource
from proxy.admin.questions import questions_of, streams_of


class Process:
    """
    A worker with rows of its own.
    """

    def __init__(self, name: str, **told: Any) -> None:
        self.name = name
        self.told = told
        self.marked: list[str] = []
        self.dropped: list[str] = []

    async def stats(self) -> Any:
        return self.told["stats"]

    async def windows(self) -> Any:
        return self.told["windows"]

    async def sessions(self, limit: int) -> Any:
        return self.told["sessions"][:limit]

    async def session(self, session_id: str) -> Any:
        found = [one for one in self.told["sessions"] if one["id"] == session_id]
        return {"session": found[0], "exchanges": self.told["exchanges"]} if found else None

    async def drop(self, session_id: str) -> bool:
        self.dropped.append(session_id)
        return self.name == "a"

    async def mark(self, target: str) -> str | None:
        self.marked.append(target)
        return "digest:d" if self.name == "b" and target == "x" else target if target == "digest:d" else None

    async def exchanges(self, limit: int) -> Any:
        return self.told["exchanges"][:limit]

    async def exchange(self, request_id: str) -> Any:
        return next((event for event in self.told["exchanges"] if event["id"] == request_id), None)

    async def explain(self, body: bytes) -> Any:
        return {"by": self.name, "size": len(body)}

    async def follow(self) -> AsyncIterator[Any]:
        for event in self.told["exchanges"]:
            yield event


class Crew:
    """
    Asks its processes as another process would: by name, with plain details.
    """

    def __init__(self, *processes: Process) -> None:
        self.desks = [(questions_of(one), streams_of(one)) for one in processes]  # type: ignore[arg-type]

    async def ask(self, question: str, details: Any) -> Any:
        return await self.desks[0][0][question](details)

    async def ask_all(self, question: str, details: Any) -> Sequence[Any]:
        return await asyncio.gather(*(questions[question](details) for questions, _ in self.desks))

    async def follow(self, stream: str) -> AsyncIterator[Any]:
        for _, streams in self.desks:
            async for event in streams[stream]():
                yield event

    async def metrics(self) -> bytes:
        return b"# of all\n"


@pytest.fixture
def two() -> tuple[MergedSource, Process, Process]:
    one = Process(
        "a",
        stats={"version": "1", "processes": 1, "started": 5.0, "actions": {"reused": 2}, "stores": [{"kind": "redis"}]},
        windows=[{"upstream": "u", "model": "m", "credential": "c", "samples": 1, "ratio": 1.5}],
        sessions=[{"id": "s", "started": 3.0, "ended": None}],
        exchanges=[{"id": "e1", "at": 9.0}],
    )
    other = Process(
        "b",
        stats={
            "version": "1",
            "processes": 1,
            "started": 4.0,
            "actions": {"reused": 1, "compacted": 4},
            "stores": [{"kind": "redis"}],
        },
        windows=[{"upstream": "u", "model": "m", "credential": "c", "samples": 9, "ratio": 1.1}],
        sessions=[{"id": "t", "started": 4.0, "ended": None}, {"id": "s", "started": 3.0, "ended": 8.0}],
        exchanges=[{"id": "e2", "at": 10.0}],
    )
    return MergedSource(Crew(one, other)), one, other


async def test_sums_are_added_and_names_are_not(two: Any) -> None:
    """
    A store that all share is told once.
    """
    assert await two[0].stats() == {
        "version": "1",
        "processes": 2,
        "started": 4.0,
        "actions": {"reused": 3, "compacted": 4},
        "stores": [{"kind": "redis"}],
    }


async def test_the_process_that_knows_best_tells_of_a_model(two: Any) -> None:
    """
    A ratio is learned, not added.
    """
    assert [row["ratio"] for row in await two[0].windows()] == [1.1]


async def test_lists_are_joined_newest_first(two: Any) -> None:
    """
    And cut to what was asked for; a session is told once, as it ended.
    """
    source = two[0]

    assert [event["id"] for event in await source.exchanges(10)] == ["e2", "e1"]
    assert [event["id"] for event in await source.exchanges(1)] == ["e2"]
    assert [(one["id"], one["ended"]) for one in await source.sessions(5)] == [("t", None), ("s", 8.0)]
    assert [event["id"] for event in (await source.session("s"))["exchanges"]] == ["e2", "e1"]
    assert await source.session("never") is None


async def test_an_exchange_is_found_wherever_it_was(two: Any) -> None:
    """
    Each process has a journal of its own.
    """
    assert [(await two[0].exchange(name) or {}).get("at") for name in ("e1", "e2", "e3")] == [9.0, 10.0, None]


async def test_a_mark_reaches_every_process_by_the_key_one_of_them_knows(two: Any) -> None:
    """
    The next request may go to any of them.
    """
    source, one, other = two

    assert (await source.mark("x"), one.marked, other.marked) == ("digest:d", ["x", "digest:d"], ["x", "digest:d"])
    assert await source.mark("y") is None


async def test_dropping_reaches_every_store(two: Any) -> None:
    """
    Each process may have its own.
    """
    source, one, other = two

    assert (await source.drop("s"), one.dropped, other.dropped) == (True, ["s"], ["s"])


async def test_the_rest_passes_through(two: Any) -> None:
    """
    Metrics are collected elsewhere, any process explains, and all are followed.
    """
    source = two[0]

    assert await source.metrics() == "# of all\n"
    assert await source.explain(b"{}") == {"by": "a", "size": 2}
    assert [event["id"] async for event in source.follow()] == ["e1", "e2"]
