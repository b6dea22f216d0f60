"""
After an answer, while nobody waits: make the next record, or a better one in the place of a degraded one.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Literal

from proxy.errors import ProxyError, StoreError
from proxy.pipeline.ahead import Ahead
from proxy.pipeline.conversations import beginning
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.groundwork import Groundwork
from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.holding import Hold, held
from proxy.pipeline.patience import patience
from proxy.pipeline.plan import Plan
from proxy.pipeline.scene import Scene
from proxy.records.record import Record
from proxy.records.store import RecordStore

MOST_AT_ONCE = 16
MOST_FRUITLESS = 10_000
LOOK_SECONDS = 0.25
"""How often a request that waits asks whether another replica is done."""

Stage = Literal["prepared", "repaired"]
_Turn = tuple[str, str, str]


class Preparation:
    """
    Runs at most one preparation for each conversation, whichever replica sees it, and a bounded number in all.
    """

    def __init__(self, ground: Groundwork, ahead: Ahead, store: RecordStore) -> None:
        self._hold = Hold()
        self._ground = ground
        self._ahead = ahead
        self._store = store
        self._running: dict[_Turn, asyncio.Task[None]] = {}
        self._fruitless: dict[str, None] = {}

    def after(self, exchange: Exchange, plan: Plan, *, real_tokens: int | None) -> None:
        """
        Prepare the next record where the real size of the request passed ``prepare_at``, or repair a degraded one.
        """
        scene = plan.scene
        stage = self._due(exchange, plan, real_tokens)
        if scene is None or stage is None or len(self._running) >= MOST_AT_ONCE or self._of(scene) is not None:
            return
        turn = _turns(scene)[0]
        self._running[turn] = self._ground.tasks.start(self._alone(exchange, scene, stage), name="prepare")

    async def awaited(self, exchange: Exchange, scene: Scene) -> Scene:
        """
        Wait for what is being prepared for this conversation, as long as a summary may be waited for, and return the
        scene with what is there then: a second summary of nearly the same rows would cost more and come later.
        """
        started = monotonic()
        if running := self._of(scene):
            await asyncio.wait({running}, timeout=patience(exchange))
        elif not await guarded_async("ask other replicas", self._ended_elsewhere(exchange, scene), otherwise=False):
            return scene
        exchange.waited += monotonic() - started
        return replace(scene, known=await self._ground.conversations.known(scene.identity, scene.rows))

    def _due(self, exchange: Exchange, plan: Plan, real_tokens: int | None) -> Stage | None:
        share, scene = exchange.compaction.prepare_at, plan.scene
        if share is None or scene is None or plan.sent_tokens is None or plan.kind == "compacted":
            return None
        if exchange.mode != "compact" or not scene.identity.digests or self._ahead.resting(exchange, scene):
            return None
        live, pending = scene.known.live, scene.known.pending
        size = real_tokens / scene.scale if real_tokens else plan.sent_tokens
        if size >= share * scene.budget.threshold:
            return None if pending is not None and pending.cut > (live.cut if live else 0) else "prepared"
        degraded = live is not None and live.degraded and live.key not in self._fruitless
        return "repaired" if degraded and pending is None else None

    def _of(self, scene: Scene) -> asyncio.Task[None] | None:
        """
        Return the preparation that an earlier turn of the conversation started.
        """
        if not self._running:
            return None
        return next((task for turn in _turns(scene) if (task := self._running.get(turn)) is not None), None)

    async def _ended_elsewhere(self, exchange: Exchange, scene: Scene) -> bool:
        """
        Wait until no other replica prepares anything for this conversation; tell whether one did.
        """
        if scene.known.pending is not None or exchange.compaction.prepare_at is None or not scene.identity.digests:
            return False
        waited = False
        with suppress(TimeoutError):
            async with asyncio.timeout(patience(exchange)):
                while (lease := await self._store.lease(_lineage(scene), LOOK_SECONDS)) is None:
                    waited = True
                    await asyncio.sleep(LOOK_SECONDS)
                await self._store.release(lease)
        return waited

    async def _alone(self, exchange: Exchange, scene: Scene, stage: Stage) -> None:
        lease = None
        try:
            lease = await self._store.lease(_lineage(scene), self._hold.lease)
            if lease is not None:
                async with held(self._store, lease, self._ground.tasks, self._hold):
                    record = await self._record(exchange, scene, stage)
                outcome = "ok" if record else "none"
                self._ground.metrics.compactions.labels(exchange.route.name, stage, outcome).inc()
        except ProxyError:
            return  # the next compaction simply makes its own
        finally:
            self._running.pop(_turns(scene)[0], None)
            if lease is not None:
                with suppress(StoreError):
                    await self._store.release(lease)

    async def _record(self, exchange: Exchange, scene: Scene, stage: Stage) -> Record | None:
        if stage == "prepared":
            share = exchange.compaction.prepare_at or 1.0
            return await self._ahead.prepare(exchange, scene, keep_growing=int((1 - share) * scene.budget.threshold))
        record = await self._ahead.repair(exchange, scene)
        if record is None and scene.known.live is not None:
            self._give_up(scene.known.live.key)
        return record

    def _give_up(self, key: str) -> None:
        """
        Never try again what a working model could not make better.
        """
        self._fruitless[key] = None
        if len(self._fruitless) > MOST_FRUITLESS:
            del self._fruitless[next(iter(self._fruitless))]


def _turns(scene: Scene) -> list[_Turn]:
    """
    Return what tells a conversation at this turn and at each earlier one, the latest first.
    """
    identity = scene.identity
    return [(identity.scope, identity.model, digest) for digest in reversed(identity.digests)]


def _lineage(scene: Scene) -> str:
    """
    Return what one conversation is called while something is prepared for it, on whichever replica.
    """
    live, identity = scene.known.live, scene.identity
    early = f"{identity.scope}:{identity.model}:{beginning(identity.digests)}"
    return "prepare:" + (live.key if live is not None else early)
