"""
The parts of summarising that take long in pure Python, behind one seam, so that they can run in a worker process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from proxy.summaries.base import SummaryJob
from proxy.summaries.bounding import Bounds, Record, records
from proxy.summaries.grounding import ground
from proxy.summaries.ledger.extract import extract


class TextCounter(Protocol):
    """
    Counts tokens; the room ``tokens`` has one.
    """

    def text(self, text: str) -> int:
        """
        Return the tokens of *text*.
        """
        ...


class SummaryWork(ABC):
    """
    Long work without input or output; every argument and result can be pickled.
    """

    @abstractmethod
    async def extract(self, job: SummaryJob) -> str:
        """
        Return the extract of *job*.
        """

    @abstractmethod
    async def records(self, job: SummaryJob, bounds: Bounds) -> tuple[Record, ...]:
        """
        Return the transcripts that a model is to read.
        """

    @abstractmethod
    async def ground(self, text: str, job: SummaryJob) -> str:
        """
        Return a model's *text* with what it lacks of the source.
        """


class InlineWork(SummaryWork):
    """
    Does the work at once, in the calling thread.
    """

    def __init__(self, counter: TextCounter) -> None:
        self._count = counter.text

    async def extract(self, job: SummaryJob) -> str:
        """
        Return the extract of *job*.
        """
        return extract(job, self._count)

    async def records(self, job: SummaryJob, bounds: Bounds) -> tuple[Record, ...]:
        """
        Return the transcripts that a model is to read.
        """
        return records(job, bounds, self._count)

    async def ground(self, text: str, job: SummaryJob) -> str:
        """
        Return a model's *text* with what it lacks of the source.
        """
        return ground(text, job, self._count)
