"""
A source as named questions: JSON details in, JSON out, so that another process can ask it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from proxy.admin.contract import AdminSource, Json

Details = Mapping[str, Any]
Question = Callable[[Details], Awaitable[Any]]
FOLLOW = "events"
"""The name of the stream."""


def questions_of(source: AdminSource) -> dict[str, Question]:
    """
    Return what *source* answers, by the names that ``merged`` asks for.
    """

    async def listed(details: Details) -> list[Json]:
        return await source.sessions(details["limit"])

    async def events(details: Details) -> list[Json]:
        return await source.exchanges(details["limit"])

    async def explained(details: Details) -> Json:
        return await source.explain(details["body"].encode())

    return {
        "stats": lambda _: source.stats(),
        "windows": lambda _: source.windows(),
        "sessions": listed,
        "session": lambda details: source.session(details["id"]),
        "drop": lambda details: source.drop(details["id"]),
        "mark": lambda details: source.mark(details["target"]),
        "exchanges": events,
        "exchange": lambda details: source.exchange(details["id"]),
        "view": lambda details: source.view(details["id"]),
        "explain": explained,
    }


def streams_of(source: AdminSource) -> dict[str, Callable[[], AsyncIterator[Json]]]:
    """
    Return what *source* tells without end.
    """
    return {FOLLOW: source.follow}
