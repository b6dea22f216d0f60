"""
Find and keep the records of a conversation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from proxy.chat.groups import is_group_start
from proxy.chat.messages import Message
from proxy.compaction.layout import Layout
from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.marks import Marks
from proxy.pipeline.titles import title_of
from proxy.records.record import Record
from proxy.records.store import RecordStore
from proxy.telemetry.metrics import Metrics

KEY_BYTES = 16
EARLY_ROW = 3
NEWEST_ROWS = 512
"""Rows at the end of a history among which the record in force nearly always ends."""


@dataclass(frozen=True, slots=True)
class Identity:
    """
    What a conversation is recognised by: the digests of its prefixes, and the *scope* (route and all that shapes text).

    *session_hint* is what the client calls it; *client* is a short digest of the credential, and *route* a name: both
    are for books and people, the digests hold them already.
    """

    digests: tuple[str, ...]
    scope: str
    model: str
    session_hint: str = ""
    client: str = ""
    route: str = ""

    def digest_of(self, covered: int) -> str:
        """
        Return the digest of the first *covered* rows; those of no row at all is the empty string's place.
        """
        return self.digests[covered - 1] if covered else ""


def beginning(digests: Sequence[str]) -> str:
    """
    Return the digest by which a conversation is told from others, whatever it grows to: that of its first rows.
    """
    return digests[min(len(digests) - 1, EARLY_ROW)]


@dataclass(frozen=True, slots=True)
class Known:
    """
    The records that apply to a request: the one in force (*live*), a newer one that waits (*pending*), and the best
    one made for another model (*foreign*).

    *changing* is the number of rows at the end that this client will send otherwise next time.
    """

    live: Record | None = None
    pending: Record | None = None
    foreign: Record | None = None
    changing: int = 0


LookedUp = Callable[[Identity, Iterable[Record]], Awaitable[int]]
"""Told of every look-up: whose, and the records that fit; answers how many of the last rows will change."""


class Conversations:
    """
    Recognises conversations and remembers what was folded; *marks* are those that are to be compacted next time.
    """

    def __init__(self, store: RecordStore, *, metrics: Metrics, marks: Marks, looked_up: LookedUp) -> None:
        self.marks = marks
        self._store = store
        self._metrics = metrics
        self._looked_up = looked_up

    async def known(self, identity: Identity, rows: Sequence[Message]) -> Known:
        """
        Return the longest records that apply to *rows*.
        """
        if not identity.digests:
            return Known()
        fitting = await self._fitting(identity, rows)
        mine = [record for record in fitting if record.model == identity.model]
        live = _in_force(fitting, identity)
        pending = _longest(record for record in mine if record.pending)
        if pending is not None and _spent(pending, live):
            pending = None
        self._metrics.lookups.labels("pending" if pending else "hit" if live else "miss").inc()
        foreign = _longest(record for record in fitting if record.model != identity.model and not record.pending)
        changing = await guarded_async("watch habits", self._looked_up(identity, fitting), otherwise=0)
        return Known(live, pending, foreign, min(changing, len(rows) - 1))

    async def _fitting(self, identity: Identity, rows: Sequence[Message]) -> list[Record]:
        """
        Return the records that apply to *rows*; those of old rows alone are looked for where no newer one is in force.
        """
        begin = max(len(identity.digests) - NEWEST_ROWS, 0)
        fitting = await self._found(identity, rows, begin, None)
        live = _in_force(fitting, identity)
        # A record with a later cut covers at least the rows up to it.
        if begin and (live is None or live.cut <= begin):
            fitting += await self._found(identity, rows, 0, begin)
        return fitting

    async def _found(self, identity: Identity, rows: Sequence[Message], begin: int, end: int | None) -> list[Record]:
        nothing: dict[str, tuple[Record, ...]] = {}
        asked = self._store.find(identity.digests[begin:end])
        found = await guarded_async("find records", asked, otherwise=nothing)
        return [
            record
            for digest, records in found.items()
            for record in records
            if record.scope == identity.scope and _fits(record, digest, identity, rows)
        ]

    async def keep(self, layout: Layout, identity: Identity, facts: RecordFacts) -> Record:
        """
        Store a compaction and return the record in force: the first writer of a key wins.
        """
        record = _record(layout, identity, facts)
        return await guarded_async("keep a record", self._store.put(record), otherwise=record)


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """
    What a record tells beside its layout.
    """

    parent: Record | None
    degraded: bool
    pending: bool
    before_tokens: int
    after_tokens: int
    created: float


def _fits(record: Record, digest: str, identity: Identity, rows: Sequence[Message]) -> bool:
    """
    Tell whether a record can be laid over *rows*: something live follows its cut, which splits no tool round.
    """
    covered_here = record.covered <= len(rows) and identity.digest_of(record.covered) == digest
    return covered_here and record.cut < len(rows) and is_group_start(rows, record.cut)


def _in_force(fitting: Sequence[Record], identity: Identity) -> Record | None:
    return _longest(record for record in fitting if record.model == identity.model and not record.pending)


def _spent(pending: Record, live: Record | None) -> bool:
    """
    Tell whether nothing is left to take up: the record in force reaches as far, with a summary no worse.
    """
    if live is None:
        return False
    return pending.cut < live.cut or (pending.cut == live.cut and not live.degraded)


def _longest(records: object) -> Record | None:
    return max(records, key=lambda r: (r.cut, r.covered, r.created, r.key), default=None)  # type: ignore[call-overload, no-any-return]


def _record(layout: Layout, identity: Identity, facts: RecordFacts) -> Record:
    parent = facts.parent
    digest = identity.digest_of(layout.covered)
    # The text of the summary is left out: whoever folds the same rows in the same way shares the first one's bytes.
    shape = f"{digest}\0{identity.scope}\0{identity.model}\0{replace(layout, summary=None)!r}\0{facts.pending}"
    key = blake2b(shape.encode("utf-8", "replace"), digest_size=KEY_BYTES).hexdigest()
    own = {name: getattr(layout, name) for name in Layout.__slots__}
    record = Record(key=key, digest=digest, scope=identity.scope, covered=layout.covered, model=identity.model, **own)
    return replace(
        record,
        parent=parent.key if parent else None,
        session=(parent.session if parent else "") or identity.session_hint or key,
        client=identity.client,
        title=title_of(layout.summary) or (parent.title if parent else ""),
        degraded=facts.degraded,
        pending=facts.pending,
        before_tokens=facts.before_tokens,
        after_tokens=facts.after_tokens,
        created=facts.created,
    )
