"""
Who writes the summary of this exchange, with whose credential, and how long it is waited for.
"""

from __future__ import annotations

import asyncio
from asyncio import Task
from collections.abc import Awaitable, Callable
from dataclasses import replace
from time import monotonic

from proxy.engines.base import Posture, Summarize
from proxy.pipeline.desk import TOO_SLOW, SummaryDesk
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.hooks import Hooks
from proxy.pipeline.patience import patience
from proxy.pipeline.scene import Scene
from proxy.summaries.base import Summarizer, Summary, SummaryJob
from proxy.summaries.keeping import pinned
from proxy.telemetry.metrics import Metrics

Writers = Callable[[Exchange, Scene], Awaitable[Summarizer]]
NO_HOOKS = Hooks(())


class Summarizing:
    """
    Hands each compaction a function that writes its summary: shared, bounded in time, with a fallback.
    """

    def __init__(
        self, desk: SummaryDesk, writers: Writers, fallback: Summarizer, *, metrics: Metrics, hooks: Hooks = NO_HOOKS
    ) -> None:
        self._desk = desk
        self._writers = writers
        self._fallback = fallback
        self._metrics = metrics
        self._hooks = hooks

    def for_posture(self, exchange: Exchange, scene: Scene, posture: Posture) -> Summarize:
        """
        Return who writes for a request that waits; only the first pass asks a model.
        """
        left = patience(exchange) if posture is Posture.NORMAL else 0
        if left:
            return self._shared(exchange, scene, left)

        async def summarize(job: SummaryJob) -> Summary:
            summary = await self._fallback.summarize(await self._prepared(exchange, scene, job))
            if posture is not Posture.NORMAL:
                return summary
            # The patience of this request went into what was being prepared, and did not come in time.
            return replace(summary, degraded=True, failures=(*summary.failures, TOO_SLOW))

        return summarize

    def patient(self, exchange: Exchange, scene: Scene) -> Summarize:
        """
        Return who writes while nobody waits.
        """
        return self._shared(exchange, scene, exchange.compaction.summarizer.timeout)

    def late(self, scene: Scene, job: SummaryJob) -> Task[Summary] | None:
        """
        Return the summary of *job* that was too slow for its request and is still being made.
        """
        return self._desk.running(_key(scene, job))

    def _shared(self, exchange: Exchange, scene: Scene, patience: float) -> Summarize:
        async def summarize(job: SummaryJob) -> Summary:
            started = monotonic()
            job = await self._prepared(exchange, scene, job)
            key, best = _key(scene, job), await self._writers(exchange, scene)
            summary = await self._desk.summarize(key, job, best=best, fallback=self._fallback, patience=patience)
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
            search = asyncio.to_thread(pinned, job.originals, settings.pin, mask=settings.redact)
            found = await guarded_async("pin", search, otherwise=found)
        return replace(job, redact=settings.redact, pinned=found, notes=exchange.notes)


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
