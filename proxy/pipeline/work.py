"""
Long Python work off the event loop: in a thread where it is short, in another process where it is long.

A busy thread holds the interpreter lock, so a long extract in a thread would stall every stream.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from proxy.chat.messages import text_of
from proxy.pipeline.longwork import LongWork
from proxy.pipeline.workbench import Job
from proxy.pipeline.workshop import Workshop, WorkshopError
from proxy.summaries.base import SummaryJob
from proxy.summaries.bounding import Bounds, Record, records
from proxy.summaries.grounding import ground
from proxy.summaries.ledger.extract import extract
from proxy.summaries.work import SummaryWork, TextCounter

T = TypeVar("T")
SHORT_CHARACTERS = 40_000
"""Jobs up to this size take some 50 ms and run in a thread."""


class OffLoopWork(SummaryWork):
    """
    Runs summarising work beside the event loop: long jobs in the *workshop*, and where there is none in a process that
    starts with the next of them and loads the token tables for itself.
    """

    def __init__(self, counter: TextCounter, workshop: Workshop | None = None) -> None:
        self._count = counter.text
        self._long = LongWork(workshop)
        # Its own thread: those that wait for their turn would take up the ones that requests are parsed in.
        self._waiter: Executor | None = None

    async def extract(self, job: SummaryJob) -> str:
        """
        Return the extract of *job*.
        """
        return await self._run(job, partial(extract, job))

    async def records(self, job: SummaryJob, bounds: Bounds) -> tuple[Record, ...]:
        """
        Return the transcripts that a model is to read.
        """
        return await self._run(job, partial(records, job, bounds))

    async def ground(self, text: str, job: SummaryJob) -> str:
        """
        Return a model's *text* with what it lacks of the source.
        """
        return await self._run(job, partial(ground, text, job))

    async def _run(self, job: SummaryJob, work: Job[T]) -> T:
        if _is_short(job):
            return await asyncio.to_thread(work, self._count)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._waiting(), self._long.do, work)
        except WorkshopError:
            return await asyncio.to_thread(work, self._count)

    def close(self) -> None:
        """
        Let the other process go.
        """
        self._long.close()
        if self._waiter is not None:
            self._waiter.shutdown(wait=False, cancel_futures=True)

    def _waiting(self) -> Executor:
        if self._waiter is None:
            self._waiter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="workshop")
        return self._waiter


def _is_short(job: SummaryJob) -> bool:
    return sum(len(text_of(row)) for row in job.originals) <= SHORT_CHARACTERS
