"""
The summary desk: one summary per stretch of conversation, whoever asks, and nobody waits longer than allowed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial

from proxy.errors import SummaryError
from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.sharing import SummarySharing
from proxy.pipeline.tasks import TaskKeeper
from proxy.summaries.base import Summarizer, Summary, SummaryJob

TOO_SLOW = "too slow"


@dataclass(frozen=True, slots=True)
class Terms:
    """
    How a summary is made: how many seconds its request waits (*patience*), which *upstream* is asked and how many of
    its places (*at_once*) there are. Without an upstream it is made here, by every process for itself.
    """

    patience: float
    upstream: str | None = None
    at_once: int = 1


class SummaryDesk:
    """
    Shares running summaries between requests and processes, bounds how many an upstream is asked for at once, and falls
    back when one takes too long.
    """

    def __init__(self, tasks: TaskKeeper, sharing: SummarySharing) -> None:
        self._tasks = tasks
        self._sharing = sharing
        self._running: dict[str, asyncio.Task[Summary]] = {}
        self._wanted: Counter[str] = Counter()
        self._places: dict[tuple[str, int], asyncio.Semaphore] = {}

    async def summarize(
        self, key: str, job: SummaryJob, *, best: Summarizer, fallback: Summarizer, terms: Terms
    ) -> Summary:
        """
        Return the summary of *job*, shared under *key*; the fallback's, marked degraded, when patience ends.

        A client that leaves stops a summary only where nobody else wants it; who was too impatient still does.
        """
        task = self._running.get(key)
        if task is None:
            task = self._tasks.start(self._make(key, job, best, terms), name="summary")
            self._running[key] = task
            task.add_done_callback(partial(self._forget, key))
        self._wanted[key] += 1
        try:
            return await asyncio.wait_for(asyncio.shield(task), terms.patience)
        except asyncio.CancelledError:
            if self._running.get(key) is task:  # or nobody is counted any more
                self._wanted[key] -= 1
                if not self._wanted[key]:
                    self._tasks.start(self._stop(key, task), name="unwanted summary")
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

    def _forget(self, key: str, task: asyncio.Task[Summary]) -> None:
        if self._running.get(key) is task:
            del self._running[key]
            self._wanted.pop(key, None)

    async def _stop(self, key: str, task: asyncio.Task[Summary]) -> None:
        """
        Stop a summary that nobody here wants any more, unless somebody elsewhere does.
        """
        elsewhere = await guarded_async("ask who waits", self._sharing.wanted(key), otherwise=False)
        if not elsewhere and not self._wanted[key]:
            # It may take a while to end; who asks meanwhile must not end with it.
            self._forget(key, task)
            task.cancel()

    async def _make(self, key: str, job: SummaryJob, summarizer: Summarizer, terms: Terms) -> Summary:
        if terms.upstream is None:
            return await summarizer.summarize(job)
        places = self._places.setdefault((terms.upstream, terms.at_once), asyncio.Semaphore(terms.at_once))

        async def placed() -> Summary:
            async with places:
                return await summarizer.summarize(job)

        # A process that only waits for another's summary takes no place.
        return await self._sharing.once(key, placed)
