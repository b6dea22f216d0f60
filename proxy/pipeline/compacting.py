"""
Compact one request: take up what was prepared, or run the engine, at most three passes, and keep the record.
"""

from __future__ import annotations

from asyncio import Task, shield
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog

from proxy.compaction.handover import hand_over
from proxy.compaction.layout import Layout, layout_of, with_edits
from proxy.compaction.prune import prune_edits, prune_frontier
from proxy.compaction.shorten import shorten
from proxy.engines.base import POSTURES, Compaction, Engine, Posture, Report
from proxy.engines.base import Task as EngineTask
from proxy.engines.sizer import Sizer
from proxy.engines.window import Window
from proxy.errors import IllegalPlanError, SummaryError
from proxy.pipeline.conversations import Conversations, RecordFacts
from proxy.pipeline.desk import TOO_SLOW
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.plan import Demand, Plan, write_plan
from proxy.pipeline.scene import Scene
from proxy.pipeline.summarizing import Summarizing
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.record import Record
from proxy.summaries.base import Summary, SummaryJob
from proxy.tokens.counter import TokenCounter

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Start:
    """
    What a compaction builds on: the layout in force or a prepared one, and the record it came from.
    """

    layout: Layout | None
    record: Record | None
    prepared: bool = False


class Compacting:
    """
    Runs the route's engine and turns its layouts into plans and records.
    """

    def __init__(
        self,
        counter: TokenCounter,
        engines: Mapping[str, Engine],
        *,
        conversations: Conversations,
        summarizing: Summarizing,
        tasks: TaskKeeper,
        clock: Callable[[], float],
    ) -> None:
        self._counter = counter
        self._engines = engines
        self._plain = Window(counter)
        self._conversations = conversations
        self._summarizing = summarizing
        self._tasks = tasks
        self._clock = clock

    async def compact(self, exchange: Exchange, scene: Scene, demand: Demand) -> Plan | None:
        """
        Return the best plan that could be made, ``None`` where nothing is gained.

        A client that leaves ends it, and the summary as well where nobody else waits for that.
        """
        start = _start(scene)
        size = Sizer(scene.rows, self._counter, fixed=scene.fixed)
        if start.prepared and not demand.shrinks:
            ready = self._taken_up(scene, start, size)
            if ready is not None:
                plan = await self._kept(scene, ready, start)
                if plan is not None:
                    return plan
        return await self._passes(exchange, scene, demand, start)

    async def prepare(self, exchange: Exchange, scene: Scene, *, keep_growing: int) -> Record | None:
        """
        Make the next record ahead of time; it waits until the next compaction.
        """
        start = _start(scene)
        task = replace(self._task(exchange, scene, Demand(), start.layout), keep_growing=keep_growing)
        engine = self._engines[exchange.compaction.engine]
        made = await engine.compact(task, summarize=self._summarizing.patient(exchange, scene))
        if made.layout is None or made.layout.summary is None or (made.report.summary and made.report.summary.degraded):
            return None
        facts = self._facts(made.report, start, pending=True)
        return await self._conversations.keep(made.layout, scene.identity, facts)

    async def _passes(self, exchange: Exchange, scene: Scene, demand: Demand, start: _Start) -> Plan | None:
        engine = self._engines[exchange.compaction.engine]
        layout, plan = start.layout, None
        for posture in POSTURES[POSTURES.index(demand.posture) :]:
            if plan is None and self._may_stop(scene, demand, posture, layout):
                break
            task = self._task(exchange, scene, replace(demand, posture=posture), layout)
            summarize = self._summarizing.for_posture(exchange, scene, posture)
            made = await guarded_async("engine", engine.compact(task, summarize=summarize), otherwise=None)
            if made is None:
                return plan or await self._without_engine(exchange, scene, demand, layout)
            if made.layout is None:
                continue
            better = await self._kept(scene, made, start, changes=demand.changes)
            if better is None:
                continue
            layout, plan = made.layout, better
            if made.report.fits:
                break
        return plan

    async def _without_engine(
        self, exchange: Exchange, scene: Scene, demand: Demand, layout: Layout | None
    ) -> Plan | None:
        """
        The engine failed: the request goes as it is where it fits, else plainly truncated.

        No record is kept of that, so that the conversation is whole again once the engine is.
        """
        exchange.action = "failed-open"
        if self._may_go(scene, demand, layout):
            return None
        plan = None
        for posture in (Posture.NORMAL, Posture.SQUEEZE):
            task = self._task(exchange, scene, replace(demand, posture=posture), None)
            made = await self._plain.compact(task, summarize=self._summarizing.for_posture(exchange, scene, posture))
            written = _written(scene, made.layout, demand.changes, tokens=made.report.after) if made.layout else None
            plan = written or plan
            if written is not None and made.report.fits:
                break
        return replace(plan, kind="compacted") if plan else None

    def _may_stop(self, scene: Scene, demand: Demand, posture: Posture, layout: Layout | None) -> bool:
        """
        Tell whether a request that could not be made smaller may go as it is: it fits, and nobody asked for less.
        """
        return posture is not Posture.NORMAL and self._may_go(scene, demand, layout)

    def _may_go(self, scene: Scene, demand: Demand, layout: Layout | None) -> bool:
        if demand.shrinks:
            return False
        return Sizer(scene.rows, self._counter, fixed=scene.fixed).tokens(layout) <= scene.budget.usable

    def _task(self, exchange: Exchange, scene: Scene, demand: Demand, layout: Layout | None) -> EngineTask:
        beside = scene.bytes_beside if demand.byte_limit is not None else 0
        return EngineTask(
            system=scene.system,
            rows=scene.rows,
            previous=layout,
            budget=scene.budget,
            posture=demand.posture,
            byte_limit=None if demand.byte_limit is None else max(demand.byte_limit - beside, 1),
            focus=exchange.directives.focus,
            rederive_depth=exchange.compaction.rederive_depth,
            prune_alone=exchange.compaction.summarizer.kind != "extractive",
        )

    def _taken_up(self, scene: Scene, start: _Start, size: Sizer) -> Compaction | None:
        """
        Return the prepared layout with its prune frontier moved to the tail as it is now, if it is small enough.
        """
        layout = start.layout
        if layout is None:
            return None
        budget = scene.budget
        frontier = prune_frontier(
            scene.rows, size.costs, protect_last=budget.ratios.protect_last, ceiling=budget.tail_ceiling
        )
        moved = with_edits(layout, prune_edits(scene.rows, start=layout.cut, frontier=frontier))
        before, after = size.tokens(scene.resumed), size.tokens(moved)
        small = after < (budget.target + budget.threshold) // 2
        if not small or before - after < budget.ratios.minimum_gain * before:
            return None
        return Compaction(moved, Report(before, after, folded=moved.cut - moved.head_end))

    async def _kept(
        self,
        scene: Scene,
        made: Compaction,
        start: _Start,
        *,
        changes: Mapping[str, Any] | None = None,
    ) -> Plan | None:
        """
        Write the plan, and keep its record once it is known to be legal; whoever folded the same rows first wins.
        """
        if made.layout is None:
            return None
        plan = _written(scene, made.layout, changes, tokens=made.report.after)
        if plan is None:
            return None
        facts = self._facts(made.report, start, pending=False)
        record = await self._conversations.keep(made.layout, scene.identity, facts)
        if record.summary != made.layout.summary:
            tokens = Sizer(scene.rows, self._counter, fixed=scene.fixed).tokens(layout_of(record))
            plan = _written(scene, layout_of(record), changes, tokens=tokens)
            if plan is None:
                return None
        self._await_late(scene, made, record)
        return replace(plan, kind="compacted", record=record, summary=made.report.summary)

    def _await_late(self, scene: Scene, made: Compaction, record: Record) -> None:
        """
        Where a summary was too slow, keep it as a pending record when it comes.
        """
        summary, job = made.report.summary, made.report.job
        if summary is None or job is None or TOO_SLOW not in summary.failures:
            return
        late = self._summarizing.late(scene, job)
        if late is not None:
            self._tasks.start(self._keep_late(late, job, scene, made, record), name="late summary")

    async def _keep_late(
        self, late: Task[Summary], job: SummaryJob, scene: Scene, made: Compaction, record: Record
    ) -> None:
        try:
            summary = await shield(late)
        except SummaryError:
            return
        if summary.degraded or made.layout is None:
            return
        short = shorten(summary.text, tokens=job.ceiling_tokens, count=self._counter.text)
        text = hand_over(short, window=scene.budget.window)
        layout = replace(made.layout, summary=text)
        report = replace(made.report, summary=summary)
        facts = self._facts(report, _Start(layout, record), pending=True)
        await self._conversations.keep(layout, scene.identity, facts)

    def _facts(self, report: Report, start: _Start, *, pending: bool) -> RecordFacts:
        inherited = start.record.degraded if start.record and report.summary is None else False
        return RecordFacts(
            parent=start.record,
            degraded=report.summary.degraded if report.summary else inherited,
            pending=pending,
            before_tokens=report.before,
            after_tokens=report.after,
            created=self._clock(),
        )


def _written(scene: Scene, layout: Layout, changes: Mapping[str, Any] | None, *, tokens: int) -> Plan | None:
    """
    Write the plan; ``None`` where it may not be sent.
    """
    try:
        return write_plan(scene, layout, changes, tokens=tokens)
    except (IllegalPlanError, ValueError) as fault:
        log.warning("plan.illegal", fault=str(fault))
        return None


def _start(scene: Scene) -> _Start:
    pending, live, foreign = scene.known.pending, scene.known.live, scene.known.foreign
    if pending is not None:
        return _Start(layout_of(pending), pending, prepared=True)
    record = live or foreign
    return _Start(layout_of(record) if record else None, record)
