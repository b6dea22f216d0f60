"""
The summary desk: one summary per stretch of conversation, whoever asks, and nobody waits longer than allowed.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from proxy.errors import SummaryError
from proxy.pipeline.tasks import TaskKeeper
from proxy.summaries.base import Summarizer, Summary, SummaryJob

TOO_SLOW = "too slow"


class SummaryDesk:
    """
    Shares running summaries between requests, bounds how many run at once, and falls back when one takes too long.
    """

    def __init__(self, tasks: TaskKeeper, *, concurrent: int) -> None:
        self._tasks = tasks
        self._running: dict[str, asyncio.Task[Summary]] = {}
        self._places = asyncio.Semaphore(concurrent)

    async def summarize(
        self, key: str, job: SummaryJob, *, best: Summarizer, fallback: Summarizer, patience: float
    ) -> Summary:
        """
        Return the summary of *job*, shared under *key*; the fallback's, marked degraded, after *patience* seconds.

        A client that leaves does not stop a summary: the task belongs to the desk.
        """
        task = self._running.get(key)
        if task is None:
            task = self._tasks.start(self._make(job, best), name="summary")
            self._running[key] = task
            task.add_done_callback(lambda _: self._running.pop(key, None))
        try:
            return await asyncio.wait_for(asyncio.shield(task), patience)
        except TimeoutError:
            reason = TOO_SLOW
        except SummaryError as fault:
            reason = fault.reason
        summary = await fallback.summarize(job)
        return replace(summary, degraded=True, failures=(*summary.failures, reason))

    def running(self, key: str) -> asyncio.Task[Summary] | None:
        """
        Return the summary that is still being made under *key*.
        """
        return self._running.get(key)

    async def _make(self, job: SummaryJob, summarizer: Summarizer) -> Summary:
        async with self._places:
            return await summarizer.summarize(job)
