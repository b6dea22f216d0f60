"""
What every step of one compaction works with, and how its result is judged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from proxy.chat.groups import group_starts
from proxy.chat.messages import Message
from proxy.compaction.layout import Layout
from proxy.engines.base import Compaction, Posture, Report, Task
from proxy.engines.sizer import Sizer
from proxy.summaries.base import Summary, SummaryJob


@dataclass(frozen=True, slots=True)
class Bench:
    """
    One task with its rows measured.
    """

    task: Task
    sizer: Sizer
    rows: list[Message]

    @property
    def base(self) -> Layout:
        """
        The layout to build on: the previous one, or the client's own rows.
        """
        return self.task.previous or Layout(head_end=0, cut=0, summary=None)

    @property
    def stable(self) -> int:
        """
        The number of rows that a later turn will have as well, no group split; all rows where nothing else would do.
        """
        end = len(self.rows) - self.task.changing
        if not self.task.changing or self.task.posture is Posture.HARD_FIT:
            return len(self.rows)
        return max((start for start in group_starts(self.rows) if start <= end), default=0)

    @property
    def limit(self) -> int:
        """
        The tokens that a prompt may have at most.
        """
        return self.task.budget.usable

    def fits(self, layout: Layout | None, limit: int) -> bool:
        """
        Tell whether a layout has at most *limit* tokens, and keeps the byte limit where there is one.
        """
        within_bytes = self.task.byte_limit is None or self.sizer.bytes(layout) <= self.task.byte_limit
        return within_bytes and self.sizer.tokens(layout) <= limit

    def finished(self, layout: Layout, *, summary: Summary | None = None, job: SummaryJob | None = None) -> Compaction:
        """
        Return the compaction with its report; a gain too small counts where it makes fit what did not, and only there.
        """
        before, after = self.sizer.tokens(self.task.previous), self.sizer.tokens(layout)
        if after <= self.task.budget.fixed:
            return self.refused("no row would be left")
        fits = self.fits(layout, self.limit)
        report = Report(
            before,
            after,
            folded=layout.cut - layout.head_end,
            edited=len(layout.edits),
            fits=fits,
            summary=summary,
            job=job,
        )
        gain = before - after
        cured = fits and not self.fits(self.task.previous, self.limit)
        if not cured and (gain <= 0 or gain < self.task.budget.ratios.minimum_gain * before):
            return Compaction(None, replace(report, after=before, fits=False, why="the gain would be too small"))
        return Compaction(layout, report)

    def refused(self, why: str) -> Compaction:
        """
        Return the report of a compaction that was not made.
        """
        before = self.sizer.tokens(self.task.previous)
        return Compaction(None, Report(before, before, fits=False, why=why))
