"""
What each client makes of its compactions, so that one who rewrites old turns does not buy a summary a turn.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import structlog

from proxy.chat.json import dumps
from proxy.errors import StoreError
from proxy.pipeline.conversations import EARLY_ROW, Identity, Known, beginning
from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.divergence import LONGEST_TAIL, Divergences
from proxy.records.record import Record
from proxy.records.spending import Ledger
from proxy.records.store import RecordStore
from proxy.telemetry.metrics import Metrics

T = TypeVar("T")
log = structlog.get_logger()
KEPT_SECONDS = 86_400.0
JUDGED_AFTER_SECONDS = 300.0
"""How long a compaction may take to be resumed before it counts as one that was not."""
MOST_NOTED = 10_000
ENDS_KEPT_SECONDS = 7 * 86_400.0
_FACT = "spending:"
ENDS = "habit:"
"""Facts by the beginning of a conversation: how many rows at its end change each turn."""


class Habits:
    """
    Keeps one ledger a client in the store, since its next turn may reach another replica; writes in the background.
    For the same reason it tells there which conversations change at their end, whenever that changes.

    Two replicas that write at the same moment may lose a mark of each other, which at worst delays or hastens a rest.
    """

    def __init__(
        self,
        store: RecordStore,
        tasks: TaskKeeper,
        *,
        metrics: Metrics,
        clock: Callable[[], float],
        judged_after: float = JUDGED_AFTER_SECONDS,
    ) -> None:
        self._store = store
        self._tasks = tasks
        self._metrics = metrics
        self._clock = clock
        self._judged_after = judged_after
        self._stopped: OrderedDict[str, float] = OrderedDict()
        self._divergences = Divergences()
        self._last_row: OrderedDict[str, int] = OrderedDict()
        self._noted: OrderedDict[str, None] = OrderedDict()
        self._ends: OrderedDict[str, int] = OrderedDict()
        self._writing = asyncio.Lock()

    async def looked_up(self, identity: Identity, found: Iterable[Record]) -> int:
        """
        Take in that a history came along, and which records it found; return how many of its last rows will change.
        """
        changing = await self._changing(identity)
        fresh = [record.key for record in found if record.key not in self._noted]
        for key in fresh:
            _note(self._noted, key, None)
        if fresh:
            self._tasks.start(self._resumed(identity.client, fresh), name="spending")
        return changing

    def bought(self, identity: Identity, record: Record, *, rest: float) -> None:
        """
        Take in that a summary was paid for; a client that hardly ever resumes one buys none for *rest* seconds.
        """
        self._tasks.start(self._bought(identity, record, rest), name="spending")

    def may_buy(self, identity: Identity, known: Known) -> bool:
        """
        Tell whether a summary is worth its price: always where the conversation has been resumed before.
        """
        resumes = known.live is not None or known.pending is not None or known.foreign is not None
        return resumes or self._clock() >= self._stopped.get(identity.client, float("-inf"))

    async def _changing(self, identity: Identity) -> int:
        """
        Compare a history with those before it, and with what other processes tell of its conversation.

        They are asked once, and again where its end has changed and nobody knows yet whether that is a habit.
        """
        if len(identity.digests) <= EARLY_ROW:
            self._compare(identity, told=0)
            return self._divergences.changing(identity.client)
        name, told = ENDS + beginning(identity.digests), 0
        if name not in self._ends:
            told = _rows(await guarded_async("read a habit", self._store.get_fact(name), otherwise=None))
            _note(self._ends, name, told)
        self._compare(identity, told=told)
        changing = self._divergences.changing(identity.client)
        if changing != self._ends.get(name):
            _note(self._ends, name, changing)
            telling = self._store.put_fact(name, dumps(changing), ENDS_KEPT_SECONDS)
            self._tasks.start(guarded_async("keep a habit", telling, otherwise=None), name="keep a habit")
        elif self._divergences.wavers(identity.client):
            del self._ends[name]
        return changing

    def _compare(self, identity: Identity, *, told: int) -> None:
        row = self._divergences.row(identity.client, identity.digests, told=told)
        if row is None:
            return
        _note(self._last_row, identity.client, row)
        if row == 0:
            return  # another conversation, as far as anybody can tell
        self._metrics.first_divergence.labels(identity.route).observe(row)
        log.info(
            "conversation.diverged",
            route=identity.route,
            client=identity.client,
            row=row,
            rows=len(identity.digests),
        )

    async def _resumed(self, client: str, keys: list[str]) -> None:
        with suppress(StoreError):
            async with self._writing:
                ledger = await self._ledger(client)
                changed = ledger.with_resumed(keys)
                if changed != ledger:
                    await self._keep(client, changed)

    async def _bought(self, identity: Identity, record: Record, rest: float) -> None:
        now = self._clock()
        with suppress(StoreError):
            async with self._writing:
                ledger = (await self._ledger(identity.client)).with_bought(record.key, now)
                await self._keep(identity.client, ledger)
            until = now - self._judged_after
            if ledger.wasteful(until=until):
                _note(self._stopped, identity.client, now + rest)
                log.warning(
                    "spending.stopped",
                    route=identity.route,
                    client=identity.client,
                    judged=len(ledger.judged(until=until)),
                    resumed=sum(each.resumed for each in ledger.judged(until=until)),
                    first_divergence=self._last_row.get(identity.client),
                )

    async def _ledger(self, client: str) -> Ledger:
        return Ledger.from_bytes(await self._store.get_fact(_FACT + client))

    async def _keep(self, client: str, ledger: Ledger) -> None:
        await self._store.put_fact(_FACT + client, ledger.to_bytes(), KEPT_SECONDS)


def _rows(raw: bytes | None) -> int:
    """
    Read what was told of an end; anything else tells nothing.
    """
    try:
        rows = int(raw) if raw is not None else 0
    except ValueError:
        return 0
    return rows if 0 < rows <= LONGEST_TAIL else 0


def _note(notes: OrderedDict[str, T], name: str, value: T) -> None:
    """
    Keep a note, and forget the oldest one where there are too many.
    """
    notes[name] = value
    notes.move_to_end(name)
    if len(notes) > MOST_NOTED:
        notes.popitem(last=False)
