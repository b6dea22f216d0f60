"""
Drive engines without a server: budgets, a summariser that writes what it is told, and the passes of the pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from proxy.chat.messages import leading_system_rows
from proxy.compaction.budget import Budget, Ratios
from proxy.compaction.layout import Layout, emit
from proxy.compaction.repair import repair_pairs
from proxy.engines.base import Compaction, Engine, Posture, Task
from proxy.engines.compressor import Compressor
from proxy.summaries.base import Summary, SummaryJob
from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary
from proxy.windows.reserve import threshold, usable

Row = dict[str, Any]

DEFAULTS = Ratios()
COUNTER = TokenCounter(Vocabulary(), CountCache())
"""Counts by estimate: deterministic, and at hand without loading a table."""


def budget(window: int, *, fixed: int = 0, ratios: Ratios = DEFAULTS, minimum: int = 0) -> Budget:
    """
    Return the budget of a request, as the pipeline makes it.
    """
    most = usable(window)
    start = threshold(window, most, percent=0.5, minimum=minimum)
    if start - fixed < (most - fixed) * 0.25:
        start = fixed + max(most - fixed, 0) // 2
    return Budget(window=window, usable=most, threshold=min(start, most), fixed=fixed, ratios=ratios)


@dataclass(slots=True)
class Scribe:
    """
    A summariser that writes *text* and remembers its jobs.
    """

    text: str = "## Goal\nThe user wanted the tests fixed.\n\n## Critical context\n- port 4711"
    jobs: list[SummaryJob] = field(default_factory=list)

    async def __call__(self, job: SummaryJob) -> Summary:
        self.jobs.append(job)
        return Summary(self.text)


def task(rows: Sequence[Row], window: int, *, system: Sequence[Row] = (), **fields: Any) -> Task:
    """
    Return a compaction of *rows* in a window of this size.
    """
    fields.setdefault("budget", budget(window, fixed=3 + COUNTER.messages(system)))
    fields.setdefault("previous", None)
    return Task(system=list(system), rows=rows, **fields)


async def compact(rows: Sequence[Row], window: int, *, scribe: Scribe | None = None, **fields: Any) -> Compaction:
    """
    Run the compressor once.
    """
    return await Compressor(COUNTER).compact(task(rows, window, **fields), summarize=scribe or Scribe())


async def passes(
    rows: Sequence[Row], window: int, *, engine: Engine | None = None, scribe: Scribe | None = None, **fields: Any
) -> Compaction | None:
    """
    Run the three postures one after the other until the result fits, as ``pipeline/compacting.py`` does.
    """
    worker, layout, best = engine or Compressor(COUNTER), fields.pop("previous", None), None
    for posture in Posture:
        if best is None and posture is not Posture.NORMAL and _small(rows, layout, window, fields):
            break
        job = task(rows, window, previous=layout, posture=posture, **fields)
        made = await worker.compact(job, summarize=scribe or Scribe())
        if made.layout is None:
            continue
        layout, best = made.layout, made
        if made.report.fits:
            break
    return best


def _small(rows: Sequence[Row], layout: Layout | None, window: int, fields: dict[str, Any]) -> bool:
    """
    Tell whether what could not be made smaller may go as it is.
    """
    if fields.get("byte_limit") is not None:
        return False
    given = task(rows, window, **fields).budget
    return given.fixed + COUNTER.messages(rows if layout is None else sent(layout, rows)) <= given.usable


def sent(layout: Layout, rows: Sequence[Row]) -> list[Row]:
    """
    Return the rows as they are sent.
    """
    return repair_pairs(emit(layout, rows))


def split(messages: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """
    Return the leading system rows and the rest.
    """
    leading = leading_system_rows(list(messages))
    return list(messages[:leading]), list(messages[leading:])
