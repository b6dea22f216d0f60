"""
Long Python work off the event loop: in a thread where it is short, in another process where it is long.

A busy thread holds the interpreter lock, so a long extract in a thread would stall every stream.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial
from typing import TypeVar

from proxy.chat.messages import text_of
from proxy.pipeline.heap import give_back
from proxy.pipeline.workshop import Job, Workshop, WorkshopError
from proxy.summaries.base import SummaryJob
from proxy.summaries.bounding import Bounds, Record, records
from proxy.summaries.grounding import ground
from proxy.summaries.ledger.extract import extract
from proxy.summaries.work import SummaryWork, TextCounter
from proxy.tokens.vocabulary import Vocabulary

T = TypeVar("T")
SHORT_CHARACTERS = 40_000
"""Jobs up to this size take some 50 ms and run in a thread."""


class OffLoopWork(SummaryWork):
    """
    Runs summarising work beside the event loop: long jobs in the *workshop*, and where there is none in a worker process
    that starts with the first of them and loads the token tables for itself.
    """

    def __init__(self, counter: TextCounter, workshop: Workshop | None = None) -> None:
        self._count = counter.text
        self._workshop = workshop
        # Its own thread: those that wait for their turn would take up the ones that requests are parsed in.
        self._waiter: Executor | None = None
        self._pool: Executor | None = None

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
        loop = asyncio.get_running_loop()
        try:
            if self._workshop is not None:
                return await loop.run_in_executor(self._waiting(), self._workshop.do, work)
            return await loop.run_in_executor(self._processes(), _tidily, work)
        except WorkshopError:
            return await asyncio.to_thread(work, self._count)
        except BrokenProcessPool:
            self._pool = None  # the worker was killed; the next job starts another
            return await asyncio.to_thread(work, self._count)

    def close(self) -> None:
        """
        Let the other process go.
        """
        if self._workshop is not None:
            self._workshop.close()
        for executor in (self._pool, self._waiter):
            if executor is not None:
                executor.shutdown(wait=False, cancel_futures=True)

    def _waiting(self) -> Executor:
        if self._waiter is None:
            self._waiter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="workshop")
        return self._waiter

    def _processes(self) -> Executor:
        if self._pool is None:
            # Spawned, not forked: a fork of a process with threads may inherit a lock that nobody will ever release.
            self._pool = ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn"))
        return self._pool


def _is_short(job: SummaryJob) -> bool:
    return sum(len(text_of(row)) for row in job.originals) <= SHORT_CHARACTERS


@cache
def _vocabulary() -> Vocabulary:
    """
    Return the vocabulary of the worker process, loaded with its first job.
    """
    vocabulary = Vocabulary()
    vocabulary.load()
    return vocabulary


def _tidily(work: Job[T]) -> T:
    """
    Do *work* and hold none of the memory that it took.
    """
    try:
        return work(_vocabulary().count)
    finally:
        give_back()
