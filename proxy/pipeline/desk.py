"""
The summary desk: one summary per stretch of conversation, whoever asks, and nobody waits longer than allowed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
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
        self._wanted: Counter[str] = Counter()
        self._places = asyncio.Semaphore(concurrent)

    async def summarize(
        self, key: str, job: SummaryJob, *, best: Summarizer, fallback: Summarizer, patience: float
    ) -> Summary:
        """
        Return the summary of *job*, shared under *key*; the fallback's, marked degraded, after *patience* seconds.

        A client that leaves stops a summary only where nobody else wants it; who was too impatient still does.
        """
        task = self._running.get(key)
        if task is None:
            task = self._tasks.start(self._make(job, best), name="summary")
            self._running[key] = task
            task.add_done_callback(lambda _: self._forget(key))
        self._wanted[key] += 1
        try:
            return await asyncio.wait_for(asyncio.shield(task), patience)
        except asyncio.CancelledError:
            self._wanted[key] -= 1
            if not self._wanted[key]:
                task.cancel()
            raise
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

    def _forget(self, key: str) -> None:
        self._running.pop(key, None)
        self._wanted.pop(key, None)

    async def _make(self, job: SummaryJob, summarizer: Summarizer) -> Summary:
        async with self._places:
            return await summarizer.summarize(job)
