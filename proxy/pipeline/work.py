"""
Long Python work off the event loop: in a thread where it is short, in a worker process where it is long.

A busy thread holds the interpreter lock, so a long extract in a thread would stall every stream.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial
from typing import TypeVar

from proxy.chat.messages import text_of
from proxy.pipeline.heap import give_back
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
    Runs summarising work beside the event loop; the worker process starts with the first long job.
    """

    def __init__(self, counter: TextCounter) -> None:
        self._counter = counter
        self._pool: Executor | None = None

    async def extract(self, job: SummaryJob) -> str:
        """
        Return the extract of *job*.
        """
        return await self._run(job, partial(extract, job, self._counter.text), partial(_extract, job))

    async def records(self, job: SummaryJob, bounds: Bounds) -> tuple[Record, ...]:
        """
        Return the transcripts that a model is to read.
        """
        return await self._run(job, partial(records, job, bounds, self._counter.text), partial(_records, job, bounds))

    async def ground(self, text: str, job: SummaryJob) -> str:
        """
        Return a model's *text* with what it lacks of the source.
        """
        return await self._run(job, partial(ground, text, job, self._counter.text), partial(_ground, text, job))

    async def _run(self, job: SummaryJob, here: Callable[[], T], elsewhere: Callable[[], T]) -> T:
        if _is_short(job):
            return await asyncio.to_thread(here)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._processes(), partial(_tidily, elsewhere))
        except BrokenProcessPool:
            self._pool = None  # the worker was killed; the next job starts another
            return await asyncio.to_thread(here)

    def close(self) -> None:
        """
        Let the worker process go.
        """
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

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


def _tidily(work: Callable[[], T]) -> T:
    """
    Do *work* and hold none of the memory that it took.
    """
    try:
        return work()
    finally:
        give_back()


def _extract(job: SummaryJob) -> str:
    return extract(job, _vocabulary().count)


def _records(job: SummaryJob, bounds: Bounds) -> tuple[Record, ...]:
    return records(job, bounds, _vocabulary().count)


def _ground(text: str, job: SummaryJob) -> str:
    return ground(text, job, _vocabulary().count)
