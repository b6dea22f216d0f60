"""
The summariser that needs no model: it selects, from the client's originals, the lines that say most.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from proxy.summaries.base import Summarizer, Summary, SummaryJob
from proxy.summaries.extractive.ledger import extract


class TextCounter(Protocol):
    """
    Counts tokens; the room ``tokens`` has one.
    """

    def text(self, text: str) -> int:
        """
        Return the tokens of *text*.
        """
        ...


class ExtractiveSummarizer(Summarizer):
    """
    Selects lines of the originals; *run* may do the work elsewhere, in a worker process.
    """

    name = "extractive"

    def __init__(self, counter: TextCounter, *, run: Callable[[SummaryJob], Awaitable[str]] | None = None) -> None:
        self._counter = counter
        self._run = run

    async def summarize(self, job: SummaryJob) -> Summary:
        """
        Return the extract of *job*; never fails, never reads an earlier summary.
        """
        if self._run is not None:
            return Summary(await self._run(job))
        return Summary(extract(job, self._counter.text))
