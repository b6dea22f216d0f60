"""
Who writes the summary of this exchange, with whose credential, and how long it is waited for.
"""

from __future__ import annotations

from asyncio import Task
from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from proxy.engines.base import Posture, Summarize
from proxy.pipeline.desk import TOO_SLOW, SummaryDesk
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.patience import patience
from proxy.pipeline.scene import Scene
from proxy.summaries.base import Summarizer, Summary, SummaryJob
from proxy.telemetry.metrics import Metrics

Writers = Callable[[Exchange, Scene], Summarizer]


class Summarizing:
    """
    Hands each compaction a function that writes its summary: shared, bounded in time, with a fallback.
    """

    def __init__(self, desk: SummaryDesk, writers: Writers, fallback: Summarizer, *, metrics: Metrics) -> None:
        self._desk = desk
        self._writers = writers
        self._fallback = fallback
        self._metrics = metrics

    def for_posture(self, exchange: Exchange, scene: Scene, posture: Posture) -> Summarize:
        """
        Return who writes for a request that waits; only the first pass asks a model.
        """
        if posture is not Posture.NORMAL:
            return self._fallback.summarize
        left = patience(exchange)
        return self._shared(exchange, scene, left) if left else self._hurried

    async def _hurried(self, job: SummaryJob) -> Summary:
        """
        Write at once for a request whose patience went into what was being prepared, and did not come in time.
        """
        summary = await self._fallback.summarize(job)
        return replace(summary, degraded=True, failures=(*summary.failures, TOO_SLOW))

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
        best = self._writers(exchange, scene)

        async def summarize(job: SummaryJob) -> Summary:
            started = monotonic()
            job = replace(job, redact=exchange.compaction.redact)
            key = _key(scene, job)
            summary = await self._desk.summarize(key, job, best=best, fallback=self._fallback, patience=patience)
            self._metrics.summary_seconds.observe(monotonic() - started)
            for reason in summary.failures:
                self._metrics.summary_failures.labels(reason).inc()
            return summary

        return summarize


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
