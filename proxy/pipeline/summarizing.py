"""
Who writes the summary of this exchange, with whose credential, and how long it is waited for.
"""

from __future__ import annotations

import asyncio
from asyncio import Task
from dataclasses import replace
from time import monotonic
from typing import Protocol

from proxy.chat.patterns import Patience
from proxy.engines.base import Posture, Summarize
from proxy.pipeline.desk import TOO_SLOW, SummaryDesk, Terms
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.habits import Habits
from proxy.pipeline.hooks import Hooks
from proxy.pipeline.lateness import tell_late
from proxy.pipeline.patience import patience
from proxy.pipeline.scene import Scene
from proxy.pipeline.writers import asked_upstream
from proxy.summaries.base import Summarizer, Summary, SummaryJob
from proxy.summaries.fallback import Cooldown
from proxy.summaries.keeping import pinned
from proxy.telemetry.metrics import Metrics

NO_HOOKS = Hooks(())
SPENDING = "spending"
"""Why no model was asked: this client hardly ever resumes what is bought for it."""


class Writers(Protocol):
    """
    Knows who writes the summaries of an exchange, and whether its model rests.
    """

    async def writer(self, exchange: Exchange, scene: Scene, /) -> Summarizer:
        """
        Return who writes.
        """

    def rest(self, exchange: Exchange, scene: Scene, /) -> Cooldown:
        """
        Return the rest of the model that would write.
        """


class Summarizing:
    """
    Hands each compaction a function that writes its summary: shared, bounded in time, with a fallback.
    """

    def __init__(
        self,
        desk: SummaryDesk,
        writers: Writers,
        fallback: Summarizer,
        *,
        habits: Habits,
        metrics: Metrics,
        hooks: Hooks = NO_HOOKS,
    ) -> None:
        self._desk = desk
        self._writers = writers
        self._fallback = fallback
        self._habits = habits
        self._metrics = metrics
        self._hooks = hooks

    def for_posture(self, exchange: Exchange, scene: Scene, posture: Posture) -> Summarize:
        """
        Return who writes for a request that waits; only the first pass asks a model.
        """
        if posture is not Posture.NORMAL:
            return self._instead(exchange, scene, None)
        if _asks_model(exchange) and not self._may_buy(scene):
            return self._instead(exchange, scene, SPENDING)
        # Nothing is left where the patience went into what was being prepared, and did not come in time.
        left = patience(exchange)
        return self._shared(exchange, scene, left) if left else self._instead(exchange, scene, TOO_SLOW)

    def _may_buy(self, scene: Scene) -> bool:
        return self._habits.may_buy(scene.identity, scene.known)

    def _instead(self, exchange: Exchange, scene: Scene, reason: str | None) -> Summarize:
        """
        Return the fallback, which writes at once; a *reason* says why it stands in for a model.
        """

        async def summarize(job: SummaryJob) -> Summary:
            summary = await self._fallback.summarize(await self._prepared(exchange, scene, job))
            if reason is None:
                return summary
            self._metrics.summary_failures.labels(reason).inc()
            return replace(summary, degraded=True, failures=(*summary.failures, reason))

        return summarize

    def patient(self, exchange: Exchange, scene: Scene) -> Summarize:
        """
        Return who writes while nobody waits.
        """
        return self._shared(exchange, scene, exchange.compaction.summarizer.timeout)

    def resting(self, exchange: Exchange, scene: Scene) -> bool:
        """
        Tell whether the model is left alone for now, so that only the fallback would write.
        """
        if not _asks_model(exchange):
            return False
        return not self._may_buy(scene) or self._writers.rest(exchange, scene).active

    def late(self, scene: Scene, job: SummaryJob) -> Task[Summary] | None:
        """
        Return the summary of *job* that was too slow for its request and is still being made.
        """
        return self._desk.running(_key(scene, job))

    def _shared(self, exchange: Exchange, scene: Scene, patience: float) -> Summarize:
        upstream = asked_upstream(exchange) if _asks_model(exchange) else None
        terms = Terms(patience, upstream, exchange.compaction.summarizer.max_concurrent)

        async def summarize(job: SummaryJob) -> Summary:
            started = monotonic()
            job = await self._prepared(exchange, scene, job)
            key, best = _key(scene, job), await self._writers.writer(exchange, scene)
            summary = await self._desk.summarize(key, job, best=best, fallback=self._fallback, terms=terms)
            self._metrics.summary_seconds.observe(monotonic() - started)
            for reason in summary.failures:
                self._metrics.summary_failures.labels(reason).inc()
            return summary

        return summarize

    async def _prepared(self, exchange: Exchange, scene: Scene, job: SummaryJob) -> SummaryJob:
        """
        Return *job* with what is kept whatever else is: pinned words of the user, and what plug-ins set aside.
        """
        settings = exchange.compaction
        if exchange.notes is None:
            exchange.notes = await self._hooks.on_pre_compress(
                scene.request.messages, seconds=settings.hook_timeout, mask=settings.redact
            )
        found: tuple[str, ...] = ()
        if settings.pin:
            # In a thread: a regex of the operator's own may take its time.
            patience = Patience()
            search = asyncio.to_thread(pinned, job.originals, settings.pin, mask=settings.redact, patience=patience)
            found = await guarded_async("pin", search, otherwise=found)
            tell_late(patience, "pin", route=exchange.route.name)
        return replace(job, redact=settings.redact, pinned=found, notes=exchange.notes)


def _asks_model(exchange: Exchange) -> bool:
    return exchange.compaction.summarizer.kind == "llm"


def _key(scene: Scene, job: SummaryJob) -> str:
    """
    Return what a running summary is shared under: the rows it covers, and all that shapes its text.
    """
    last = job.originals[-1]
    cut = next((index + 1 for index, row in enumerate(scene.rows) if row is last), len(scene.rows))
    fresh = job.previous is None
    size = job.budget_tokens.bit_length()
    identity = scene.identity
    return "\0".join(map(str, (identity.digest_of(cut), identity.scope, identity.model, job.focus, size, fresh)))
