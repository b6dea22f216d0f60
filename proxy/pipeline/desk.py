"""
The summary desk: one summary per stretch of conversation, whoever asks, and nobody waits longer than allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from proxy.errors import SummaryError
from proxy.pipeline.tasks import TaskKeeper
from proxy.summaries.base import Summarizer, Summary, SummaryJob

Late = Callable[[Summary], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Waiting:
    """
    How long one request waits, and what is done with a summary that comes too late.
    """

    seconds: float
    late: Late | None = None


class SummaryDesk:
    """
    Shares running summaries between requests, bounds how many run at once, and falls back when one takes too long.
    """

    def __init__(self, tasks: TaskKeeper, *, concurrent: int) -> None:
        self._tasks = tasks
        self._running: dict[str, asyncio.Task[Summary]] = {}
        self._places = asyncio.Semaphore(concurrent)

    async def summarize(
        self, key: str, job: SummaryJob, *, best: Summarizer, fallback: Summarizer, waiting: Waiting
    ) -> Summary:
        """
        Return the summary of *job*, shared under *key*; the fallback's, marked degraded, when waiting is over.

        A client that leaves does not stop a summary: the task belongs to the desk.
        """
        task = self._running.get(key)
        if task is None:
            task = self._tasks.start(self._make(job, best), name="summary")
            self._running[key] = task
            task.add_done_callback(lambda _: self._running.pop(key, None))
        try:
            return await asyncio.wait_for(asyncio.shield(task), waiting.seconds)
        except TimeoutError:
            reason = "too slow"
            if waiting.late is not None:
                self._tasks.start(_deliver_late(task, waiting.late), name="late summary")
        except SummaryError as fault:
            reason = fault.reason
        summary = await fallback.summarize(job)
        return replace(summary, degraded=True, failures=(*summary.failures, reason))

    async def _make(self, job: SummaryJob, summarizer: Summarizer) -> Summary:
        async with self._places:
            return await summarizer.summarize(job)


async def _deliver_late(task: asyncio.Task[Summary], late: Late) -> None:
    try:
        summary = await asyncio.shield(task)
    except SummaryError:
        return
    if not summary.degraded:
        await late(summary)
