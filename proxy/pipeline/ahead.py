"""
Records made while nobody waits: prepared ahead of time, repaired, or late. They wait for the next compaction.
"""

from __future__ import annotations

from asyncio import Task, shield
from dataclasses import replace

from proxy.compaction.handover import hand_over
from proxy.compaction.layout import Layout, layout_of
from proxy.compaction.shorten import shorten
from proxy.engines.base import Compaction
from proxy.engines.base import Task as EngineTask
from proxy.errors import SummaryError
from proxy.pipeline.desk import TOO_SLOW
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.groundwork import Groundwork, Start, engine_task, start_of
from proxy.pipeline.plan import Demand
from proxy.pipeline.scene import Scene
from proxy.records.record import Record
from proxy.summaries.base import Summary, SummaryJob


class Ahead:
    """
    Makes pending records; none of them ever changes a running prefix.
    """

    def __init__(self, ground: Groundwork) -> None:
        self._ground = ground

    def resting(self, exchange: Exchange, scene: Scene) -> bool:
        """
        Tell whether the model rests, so that nothing worth waiting for could be made.
        """
        return self._ground.summarizing.resting(exchange, scene)

    async def prepare(self, exchange: Exchange, scene: Scene, *, keep_growing: int) -> Record | None:
        """
        Make the next record ahead of time, with room for the turns still to come.
        """
        start = start_of(scene)
        task = replace(engine_task(exchange, scene, Demand(), start.layout), keep_growing=keep_growing)
        return await self._made(exchange, scene, task, start, beyond=start.layout.cut if start.layout else 0)

    async def repair(self, exchange: Exchange, scene: Scene) -> Record | None:
        """
        Fold the rows of a degraded record once more, from the originals that this request carries.
        """
        live = scene.known.live
        if live is None or live.summary is None:
            return None
        task = replace(engine_task(exchange, scene, Demand(), None), again=layout_of(live))
        return await self._made(exchange, scene, task, Start(None, live), beyond=live.cut - 1)

    def await_late(self, exchange: Exchange, scene: Scene, made: Compaction, record: Record) -> None:
        """
        Where a summary was too slow for its request, keep it when it comes.
        """
        summary, job = made.report.summary, made.report.job
        if summary is None or job is None or TOO_SLOW not in summary.failures:
            return
        late = self._ground.summarizing.late(scene, job)
        if late is not None:
            self._ground.tasks.start(self._keep_late(exchange, scene, late, made, record), name="late summary")

    async def _made(
        self, exchange: Exchange, scene: Scene, task: EngineTask, start: Start, *, beyond: int
    ) -> Record | None:
        """
        Run the engine and keep what it made, unless that is no better than what is there: it has to reach *beyond*.

        Raises ``SummaryError`` where only the fallback would have written.
        """
        ground = self._ground
        engine = ground.engines[exchange.compaction.engine]
        made = await engine.compact(task, summarize=ground.summarizing.patient(exchange, scene))
        layout, summary = made.layout, made.report.summary
        if summary is not None and summary.degraded:
            raise SummaryError(summary.failures[-1] if summary.failures else "degraded")
        if layout is None or layout.summary is None or layout.cut <= beyond:
            return None
        return await ground.keep(exchange, scene, layout, report=made.report, start=start, pending=True)

    async def _keep_late(
        self, exchange: Exchange, scene: Scene, late: Task[Summary], made: Compaction, record: Record
    ) -> None:
        try:
            summary = await shield(late)
        except SummaryError:
            return
        if summary.degraded or made.layout is None or made.report.job is None:
            return
        layout = self._rewritten(scene, made.layout, summary, made.report.job)
        report = replace(made.report, summary=summary)
        start = Start(layout, record)
        await self._ground.keep(exchange, scene, layout, report=report, start=start, pending=True)
        self._ground.metrics.compactions.labels(exchange.route.name, "late", "ok").inc()

    def _rewritten(self, scene: Scene, layout: Layout, summary: Summary, job: SummaryJob) -> Layout:
        short = shorten(summary.text, tokens=job.ceiling_tokens, count=self._ground.counter.text)
        return replace(layout, summary=hand_over(short, window=scene.budget.window))
