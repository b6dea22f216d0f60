"""
What the store tells of conversations, for people: the admin port and the verb ``sessions`` ask here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from proxy.records.record import Record
from proxy.records.sessions import Session, lineage, sessions
from proxy.records.shelf import Shelf, without_pages
from proxy.records.store import RecordStore

NEWEST = 200
"""Records that are looked through where nothing else is said."""
LONGEST_CHAIN = 100
"""Ancestors that are followed, so that a damaged store cannot hold anybody up."""


@dataclass(frozen=True, slots=True)
class SessionDetail:
    """
    One *session*, those that led to it (*lineage*, first one first, itself last), and the *record* that began it.
    """

    session: Session
    lineage: tuple[Session, ...]
    record: Record


@dataclass(frozen=True, slots=True)
class Originals:
    """
    The client's own *rows* that a session folded, from row *begin* on: later than 0 where older pages are gone.
    """

    begin: int
    rows: tuple[Any, ...]


class History:
    """
    Reads sessions out of the store; changes nothing, and makes no record live longer. May raise ``StoreError``.
    """

    def __init__(self, store: RecordStore, *, clock: Callable[[], float], ttl_seconds: float) -> None:
        self._store = store
        self._shelf = Shelf(store)
        self._clock = clock
        self._ttl_seconds = ttl_seconds

    async def sessions(self, limit: int = NEWEST) -> tuple[Session, ...]:
        """
        Return the sessions begun last, newest first, at most *limit*.
        """
        newest = await self._store.recent(limit)
        told = self._told(await self._with_ancestors(newest))
        wanted = {record.key for record in newest}
        return tuple(session for session in told if session.id in wanted)

    async def session(self, session_id: str) -> SessionDetail | None:
        """
        Return one session with all that led to it; nothing where the id is unknown.
        """
        asked = await self._store.get([session_id])
        record = next(iter(without_pages(asked.values())), None)
        if record is None:
            return None
        # What came after it is among the newest, and says how it ended.
        known = await self._with_ancestors([record, *await self._store.recent(NEWEST)])
        chain = lineage(self._told(known), session_id)
        return SessionDetail(chain[-1], chain, record) if chain else None

    async def originals(self, session_id: str) -> Originals | None:
        """
        Return what a session folded, from the archive; nothing where the archive holds none of it.
        """
        record = (await self._store.get([session_id])).get(session_id)
        if record is None:
            return None
        known = {each.key: each for each in await self._with_ancestors([record])}
        chain = [record]
        while (parent := known.get(chain[-1].parent or "")) is not None and len(chain) < LONGEST_CHAIN:
            chain.append(parent)
        return _joined(await self._shelf.get("archive", [each.key for each in chain]), chain)

    async def view(self, session_id: str) -> dict[str, Any] | None:
        """
        Return how the request looked ``before`` and ``after`` the compaction that began a session, rows shortened,
        with ``before_left_out`` and ``after_left_out`` rows not shown; nothing where no view was kept.
        """
        return (await self._shelf.get("view", [session_id])).get(session_id)

    def _told(self, records: Iterable[Record]) -> tuple[Session, ...]:
        return sessions(without_pages(records), now=self._clock(), ttl_seconds=self._ttl_seconds)

    async def _with_ancestors(self, records: Iterable[Record]) -> list[Record]:
        """
        Return *records* with all that they continue; each step back is one question for all of them.
        """
        known = {record.key: record for record in records}
        asked: set[str] = set()
        for _ in range(LONGEST_CHAIN):
            missing = {record.parent for record in known.values() if record.parent} - known.keys() - asked
            if not missing:
                break
            asked |= missing
            known |= await self._store.get(sorted(missing))
        return list(known.values())


def _joined(pages: dict[str, Any], chain: Sequence[Record]) -> Originals | None:
    """
    Put pages together, from the newest record back for as long as each begins where the one before it ended.
    """
    rows: list[Any] = []
    begin = chain[0].cut
    for record in chain:
        page = pages.get(record.key)
        if page is None or page["begin"] + len(page["rows"]) != begin:
            break
        rows, begin = [*page["rows"], *rows], page["begin"]
    return Originals(begin, tuple(rows)) if rows else None
