"""
What the store tells of conversations, for people: the admin port and the verb ``sessions`` ask here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from proxy.records.record import Record
from proxy.records.sessions import Session, lineage, sessions
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


class History:
    """
    Reads sessions out of the store; changes nothing, and makes no record live longer. May raise ``StoreError``.
    """

    def __init__(self, store: RecordStore, *, clock: Callable[[], float], ttl_seconds: float) -> None:
        self._store = store
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
        record = asked.get(session_id)
        if record is None:
            return None
        # What came after it is among the newest, and says how it ended.
        known = await self._with_ancestors([record, *await self._store.recent(NEWEST)])
        chain = lineage(self._told(known), session_id)
        return SessionDetail(chain[-1], chain, record) if chain else None

    def _told(self, records: Iterable[Record]) -> tuple[Session, ...]:
        return sessions(tuple(records), now=self._clock(), ttl_seconds=self._ttl_seconds)

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
