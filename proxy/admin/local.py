"""
The source of one process: its journal, ledger, metrics, knowledge and store as plain values.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from prometheus_client import generate_latest

from proxy import __version__
from proxy.admin.contract import Json
from proxy.admin.counts import counts, timed
from proxy.pipeline.facts import Facts
from proxy.pipeline.history import History
from proxy.pipeline.journal import Journal
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.ledger import Ledger
from proxy.pipeline.marks import Marks
from proxy.pipeline.summary_health import SummaryHealth
from proxy.pipeline.views import side_by_side
from proxy.records.store import RecordStore
from proxy.telemetry.metrics import Metrics

Explain = Callable[[bytes], Awaitable[Mapping[str, Any]]]
UNDER_A_SESSION = 50
DIGEST = "digest:"


@dataclass(frozen=True, slots=True)
class Rooms:
    """
    What of a process the admin port looks at.
    """

    store: RecordStore
    history: History
    journal: Journal
    ledger: Ledger
    health: SummaryHealth
    knowledge: Knowledge
    marks: Marks
    metrics: Metrics
    clock: Callable[[], float]
    explain: Explain


class LocalSource:
    """
    Answers for one process.
    """

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._started = rooms.clock()

    async def metrics(self) -> str:
        """
        Return the Prometheus text.
        """
        return generate_latest(self._rooms.metrics.registry).decode()

    async def stats(self) -> Json:
        """
        Return the sums since this process began.
        """
        metrics, store = self._rooms.metrics, self._rooms.store.describe()
        return {
            "version": __version__,
            "processes": 1,
            "started": self._started,
            "now": self._rooms.clock(),
            "inflight": sum(counts(metrics.inflight).values()),
            "models": self._rooms.ledger.by_model(),
            "minutes": self._rooms.ledger.by_minute(),
            "actions": counts(metrics.requests, "action"),
            "overflow": counts(metrics.overflow, "kind"),
            "recovered": counts(metrics.recovered, "rung"),
            "lookups": counts(metrics.lookups, "result"),
            "compactions": counts(metrics.compactions, "outcome"),
            "summaries": {
                **timed(metrics.summary_seconds),
                "failures": counts(metrics.summary_failures, "reason"),
                "writers": self._rooms.health.told(),
            },
            "stores": [asdict(store)],
        }

    async def windows(self) -> list[Json]:
        """
        Return what is known of models.
        """
        return [_window(facts) for facts in self._rooms.knowledge.known() if facts.of[1]]

    async def sessions(self, limit: int) -> list[Json]:
        """
        Return the newest sessions.
        """
        return [asdict(session) for session in await self._rooms.history.sessions(limit)]

    async def session(self, session_id: str) -> Json | None:
        """
        Return a session, its lineage and its newest exchanges.
        """
        found = await self._rooms.history.session(session_id)
        if found is None:
            return None
        recent = self._rooms.journal.recent(self._rooms.journal.keep)
        under = [dict(event) for event in recent if event.get("record") == session_id]
        return {
            "session": asdict(found.session),
            "lineage": [asdict(session) for session in found.lineage],
            "exchanges": under[:UNDER_A_SESSION],
            "view": await self._rooms.history.view(session_id) is not None,
        }

    async def drop(self, session_id: str) -> bool:
        """
        Delete the record; the next request makes another if it has to.
        """
        known = await self._rooms.history.session(session_id) is not None
        if known:
            await self._rooms.store.delete(session_id)
        return known

    async def mark(self, target: str) -> str | None:
        """
        Mark by record, by exchange, or by a key that another process returned.
        """
        key = await self._key_of(target)
        if key is not None:
            self._rooms.marks.put(key.removeprefix(DIGEST))
        return key

    async def exchanges(self, limit: int) -> list[Json]:
        """
        Return the newest events.
        """
        return [dict(event) for event in self._rooms.journal.recent(limit)]

    async def exchange(self, request_id: str) -> Json | None:
        """
        Return one event.
        """
        entry = self._rooms.journal.find(request_id)
        if entry is None:
            return None
        record = entry.event.get("record")
        kept = isinstance(record, str) and await self._rooms.history.view(record) is not None
        return {**entry.event, "view": kept}

    async def view(self, session_id: str) -> Json | None:
        """
        Return one compaction side by side.
        """
        view, found = await self._rooms.history.view(session_id), await self._rooms.history.session(session_id)
        return side_by_side(view, summary=found.record.summary if found else None) if view is not None else None

    async def explain(self, body: bytes) -> Json:
        """
        Say what would be done.
        """
        return dict(await self._rooms.explain(body))

    async def follow(self) -> AsyncIterator[Json]:
        """
        Yield events as they come.
        """
        async for event in self._rooms.journal.follow():
            yield dict(event)

    async def _key_of(self, target: str) -> str | None:
        if target.startswith(DIGEST):
            return target
        entry = self._rooms.journal.find(target)
        if entry is not None:
            record = entry.event.get("record")
            return DIGEST + entry.digest if entry.digest else record if isinstance(record, str) else None
        return target if await self._rooms.history.session(target) is not None else None


def _window(facts: Facts) -> Json:
    upstream, model, credential = facts.of
    window, calibration = facts.window, facts.calibration
    return {
        "upstream": upstream,
        "model": model,
        "credential": credential[:8],
        "window": window.tokens if window else None,
        "source": window.source if window else None,
        "ratio": round(calibration.ratio, 4),
        "samples": calibration.samples,
        "margin": round(calibration.margin(), 4),
        "strict_roles": facts.strict,
        "refused_tokens": facts.refused,
    }
