"""
Compact one request: take up what was prepared, or run the engine, at most three passes, and keep the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import structlog

from proxy.compaction.layout import Layout, layout_of, with_edits
from proxy.compaction.prune import prune_edits, prune_frontier
from proxy.engines.base import POSTURES, Compaction, Posture, Report
from proxy.engines.sizer import Sizer
from proxy.engines.window import Window
from proxy.errors import IllegalPlanError
from proxy.pipeline.ahead import Ahead
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.groundwork import Groundwork, Start, engine_task, start_of
from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.plan import Demand, Plan, write_plan
from proxy.pipeline.scene import Scene

log = structlog.get_logger()


class Compacting:
    """
    Runs the route's engine and turns its layouts into plans and records.
    """

    def __init__(self, ground: Groundwork, ahead: Ahead) -> None:
        self._ground = ground
        self._ahead = ahead
        self._counter = ground.counter
        self._plain = Window(ground.counter)

    async def compact(self, exchange: Exchange, scene: Scene, demand: Demand) -> Plan | None:
        """
        Return the best plan that could be made, ``None`` where nothing is gained.

        A client that leaves ends it, and the summary as well where nobody else waits for that.
        """
        start = start_of(scene)
        size = Sizer(scene.rows, self._counter, fixed=scene.fixed)
        if start.prepared and not demand.shrinks:
            ready = self._taken_up(scene, start, size)
            if ready is not None:
                plan = await self._kept(exchange, scene, ready, start)
                if plan is not None:
                    return plan._replace(prepared=True)
        return await self._passes(exchange, scene, demand, start)

    async def _passes(self, exchange: Exchange, scene: Scene, demand: Demand, start: Start) -> Plan | None:
        engine = self._ground.engines[exchange.compaction.engine]
        layout, plan = start.layout, None
        for posture in POSTURES[POSTURES.index(demand.posture) :]:
            if plan is None and self._may_stop(scene, demand, posture, layout):
                break
            task = engine_task(exchange, scene, replace(demand, posture=posture), layout)
            summarize = self._ground.summarizing.for_posture(exchange, scene, posture)
            made = await guarded_async("engine", engine.compact(task, summarize=summarize), otherwise=None)
            if made is None:
                return plan or await self._without_engine(exchange, scene, demand, layout)
            if made.layout is None:
                continue
            better = await self._kept(exchange, scene, made, start, changes=demand.changes)
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
            task = engine_task(exchange, scene, replace(demand, posture=posture), None)
            made = await self._plain.compact(
                task, summarize=self._ground.summarizing.for_posture(exchange, scene, posture)
            )
            written = _written(scene, made.layout, demand.changes, tokens=made.report.after) if made.layout else None
            plan = written or plan
            if written is not None and made.report.fits:
                break
        return plan._replace(kind="compacted") if plan else None

    def _may_stop(self, scene: Scene, demand: Demand, posture: Posture, layout: Layout | None) -> bool:
        """
        Tell whether a request that could not be made smaller may go as it is: it fits, and nobody asked for less.
        """
        return posture is not Posture.NORMAL and self._may_go(scene, demand, layout)

    def _may_go(self, scene: Scene, demand: Demand, layout: Layout | None) -> bool:
        if demand.shrinks:
            return False
        return Sizer(scene.rows, self._counter, fixed=scene.fixed).tokens(layout) <= scene.budget.usable

    def _taken_up(self, scene: Scene, start: Start, size: Sizer) -> Compaction | None:
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
        stable = scene.rows[: len(scene.rows) - scene.known.changing]
        moved = with_edits(layout, prune_edits(stable, start=layout.cut, frontier=min(frontier, len(stable))))
        before, after = size.tokens(scene.resumed), size.tokens(moved)
        # What rows that stay take beyond their share says nothing against the layout: no other would be smaller.
        apart = max(sum(size.costs[len(stable) :]) - budget.held, 0) if budget.held else 0
        small = after - apart < (budget.target + budget.threshold) // 2 and after <= budget.usable
        if not small or before - after < budget.ratios.minimum_gain * before:
            return None
        return Compaction(moved, Report(before, after, folded=moved.cut - moved.head_end))

    async def _kept(
        self,
        exchange: Exchange,
        scene: Scene,
        made: Compaction,
        start: Start,
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
        record = await self._ground.keep(exchange, scene, made.layout, report=made.report, start=start, pending=False)
        if record.summary != made.layout.summary:
            tokens = Sizer(scene.rows, self._counter, fixed=scene.fixed).tokens(layout_of(record))
            plan = _written(scene, layout_of(record), changes, tokens=tokens)
            if plan is None:
                return None
        before, mask = scene.request.messages, exchange.compaction.redact
        self._ground.archive.viewed(record, before, plan.messages, mask=mask)
        self._ahead.await_late(exchange, scene, made, record)
        return plan._replace(kind="compacted", record=record, summary=made.report.summary)


def _written(scene: Scene, layout: Layout, changes: Mapping[str, Any] | None, *, tokens: int) -> Plan | None:
    """
    Write the plan; ``None`` where it may not be sent.
    """
    try:
        return write_plan(scene, layout, changes, tokens=tokens)
    except (IllegalPlanError, ValueError) as fault:
        log.warning("plan.illegal", fault=str(fault))
        return None
