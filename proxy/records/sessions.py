"""
Sessions: what the records tell of a conversation's life, for people to look at.

Each compaction begins a session and ends the one it continues, so a long conversation is a chain of sessions. Nothing
depends on this: it is read from the records each time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from proxy.records.record import Record

EndReason = Literal["compaction", "edited", "expired"]
UNTITLED = "Untitled conversation"
_NUMBERED = re.compile(r"\s*\(\d+\)\s*$")


@dataclass(frozen=True, slots=True)
class Session:
    """
    The time between one compaction and the next; *number* counts from the first session of the conversation, *root*.

    *compactions* and *tokens_saved* add up the whole chain so far. *ended* is empty while the session may go on.
    """

    id: str
    parent: str | None
    root: str
    number: int
    title: str
    model: str
    started: float
    ended: float | None
    reason: EndReason | None
    depth: int
    degraded: bool
    compactions: int
    tokens_saved: int


def sessions(records: Sequence[Record], *, now: float, ttl_seconds: float) -> tuple[Session, ...]:
    """
    Turn records into sessions, newest first; records that wait to be taken up are none yet.
    """
    by_key = {record.key: record for record in records}
    chains = [_chain(record, by_key) for record in by_key.values() if not record.pending]
    ends = _ends(chains)
    made = [_session(chain, ends.get(chain[-1].key), now=now, ttl_seconds=ttl_seconds) for chain in chains]
    return tuple(sorted(made, key=lambda session: (session.started, session.number), reverse=True))


def lineage(all_sessions: Sequence[Session], session_id: str) -> tuple[Session, ...]:
    """
    Return a session and those it continues, first one first; nothing where the id is unknown.
    """
    by_id = {session.id: session for session in all_sessions}
    found: list[Session] = []
    at = by_id.get(session_id)
    while at is not None:
        found.append(at)
        at = by_id.get(at.parent) if at.parent is not None else None
    return tuple(reversed(found))


def numbered(title: str, number: int) -> str:
    """
    Return the title of the *number*-th session of one conversation: the bare title, then "(2)", "(3)".
    """
    bare = _NUMBERED.sub("", title).strip() or UNTITLED
    return bare if number == 1 else f"{bare} ({number})"


def _chain(record: Record, by_key: dict[str, Record]) -> tuple[Record, ...]:
    """
    Return the record with all it continues, oldest first; ancestors that are gone end the chain.
    """
    chain, seen = [record], {record.key}
    at = record
    while at.parent is not None and at.parent in by_key and at.parent not in seen:
        at = by_key[at.parent]
        seen.add(at.key)
        if not at.pending:
            chain.append(at)
    return tuple(reversed(chain))


def _ends(chains: Sequence[tuple[Record, ...]]) -> dict[str, tuple[float, EndReason]]:
    continued: dict[str, float] = {}
    siblings: dict[str, list[Record]] = {}
    for chain in chains:
        origin = chain[-2].key if len(chain) > 1 else ""
        if origin:
            continued[origin] = min(chain[-1].created, continued.get(origin, chain[-1].created))
        if origin or chain[-1].session:
            siblings.setdefault(origin or f"session {chain[-1].session}", []).append(chain[-1])
    ends: dict[str, tuple[float, EndReason]] = {key: (at, "compaction") for key, at in continued.items()}
    for family in siblings.values():
        family.sort(key=lambda record: (record.created, record.key))
        # The client went back behind the cut and on another way: the elder sibling is not coming back.
        for elder, younger in pairwise(family):
            ends.setdefault(elder.key, (younger.created, "edited"))
    return ends


def _session(
    chain: tuple[Record, ...], end: tuple[float, EndReason] | None, *, now: float, ttl_seconds: float
) -> Session:
    record, number = chain[-1], len(chain)
    title = next((each.title for each in reversed(chain) if each.title), "")
    if end is None and now - record.created >= ttl_seconds:
        end = (record.created + ttl_seconds, "expired")
    ended, reason = end or (None, None)
    return Session(
        id=record.key,
        parent=chain[-2].key if number > 1 else None,
        root=chain[0].key,
        number=number,
        title=numbered(title, number),
        model=record.model,
        started=record.created,
        ended=ended,
        reason=reason,
        depth=record.depth,
        degraded=record.degraded,
        compactions=number,
        tokens_saved=sum(max(0, each.before_tokens - each.after_tokens) for each in chain),
    )
