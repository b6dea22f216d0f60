"""
What compactions work with, whether a request waits for them or not: where they start, and what their records tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from proxy.compaction.layout import Layout, layout_of, with_thinking
from proxy.engines.base import Engine, Report
from proxy.engines.base import Task as EngineTask
from proxy.pipeline.archive import Archive
from proxy.pipeline.conversations import Conversations, RecordFacts
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.habits import Habits
from proxy.pipeline.plan import Demand
from proxy.pipeline.scene import Scene
from proxy.pipeline.summarizing import Summarizing
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.record import Record
from proxy.telemetry.metrics import Metrics
from proxy.tokens.counter import TokenCounter


@dataclass(frozen=True, slots=True)
class Start:
    """
    What a compaction builds on: the layout in force or a prepared one, and the record it came from.
    """

    layout: Layout | None
    record: Record | None
    prepared: bool = False


@dataclass(frozen=True, slots=True)
class Groundwork:
    """
    The tools of a compaction.
    """

    counter: TokenCounter
    engines: Mapping[str, Engine]
    conversations: Conversations
    summarizing: Summarizing
    habits: Habits
    archive: Archive
    tasks: TaskKeeper
    metrics: Metrics
    clock: Callable[[], float]

    async def keep(
        self, exchange: Exchange, scene: Scene, layout: Layout, *, report: Report, start: Start, pending: bool
    ) -> Record:
        """
        Keep the record of *layout* and enter what it cost; whoever folded the same rows first wins.
        """
        inherited = start.record.degraded if start.record and report.summary is None else False
        facts = RecordFacts(
            parent=start.record,
            degraded=report.summary.degraded if report.summary else inherited,
            pending=pending,
            before_tokens=report.before,
            after_tokens=report.after,
            created=self.clock(),
        )
        record = await self.conversations.keep(layout, scene.identity, facts)
        self.archive.folded(record, start.record, scene.rows, mask=exchange.compaction.redact)
        if report.summary is not None and report.summary.calls:
            self.habits.bought(scene.identity, record, rest=exchange.compaction.summarizer.cooldown)

        return record


def start_of(scene: Scene) -> Start:
    """
    Return what the next compaction of a request builds on.
    """
    pending, live, foreign = scene.known.pending, scene.known.live, scene.known.foreign
    if pending is not None:
        return Start(layout_of(pending), pending, prepared=True)
    record = live or foreign
    return Start(layout_of(record) if record else None, record)


def engine_task(exchange: Exchange, scene: Scene, demand: Demand, layout: Layout | None) -> EngineTask:
    """
    Return what an engine is asked to do.
    """
    beside = scene.bytes_beside if demand.byte_limit is not None else 0
    return EngineTask(
        system=scene.system,
        rows=scene.rows,
        previous=layout if layout is None or not scene.strict else with_thinking(layout),
        budget=scene.budget,
        posture=demand.posture,
        byte_limit=None if demand.byte_limit is None else max(demand.byte_limit - beside, 1),
        focus=exchange.directives.focus,
        rederive_depth=exchange.compaction.rederive_depth,
        keep_thinking=scene.strict,
        changing=scene.known.changing,
        prune_alone=exchange.compaction.summarizer.kind != "extractive",
    )
