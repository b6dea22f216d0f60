"""
The summariser that needs no model: it selects, from the client's originals, the lines that say most.
"""

from __future__ import annotations

from proxy.summaries.base import Summarizer, Summary, SummaryJob
from proxy.summaries.ledger.extract import extract
from proxy.summaries.work import InlineWork, SummaryWork, TextCounter

__all__ = ["ExtractiveSummarizer", "extract"]


class ExtractiveSummarizer(Summarizer):
    """
    Selects lines of the originals; *work* may do so elsewhere, in a worker process.
    """

    name = "extractive"

    def __init__(self, counter: TextCounter, *, work: SummaryWork | None = None) -> None:
        self._work = work or InlineWork(counter)

    async def summarize(self, job: SummaryJob) -> Summary:
        """
        Return the extract of *job*; never fails, never reads an earlier summary.
        """
        return Summary(await self._work.extract(job))
