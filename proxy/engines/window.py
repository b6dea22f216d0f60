"""
The ``window`` engine: plain truncation, the honest baseline.
"""

from __future__ import annotations

from proxy.compaction import handover
from proxy.compaction.bound import TailRule, tail_start
from proxy.compaction.fit import cut_bodies
from proxy.compaction.layout import Layout
from proxy.compaction.restate import restating
from proxy.engines.base import Compaction, Engine, Posture, Report, Summarize, Task
from proxy.engines.sizer import Sizer
from proxy.tokens.counter import TokenCounter

NOTICE = "Earlier turns are left out."


class Window(Engine):
    """
    Keeps the newest rows that fit the target and says that older ones are left out.
    """

    name = "window"

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    async def compact(self, task: Task, *, summarize: Summarize) -> Compaction:  # noqa: ARG002 - this engine writes none
        """
        Return the layout that keeps the newest rows alone.
        """
        sizer = Sizer(task.rows, self._counter, fixed=task.budget.fixed)
        before = sizer.tokens(task.previous)
        kept = max(task.budget.target - task.budget.fixed, 1)
        if task.posture is not Posture.NORMAL:
            kept //= 4
        cut = tail_start(task.rows, sizer.costs, TailRule(kept, kept, rows=1, user_rounds=1))
        if cut == 0 and task.posture is Posture.NORMAL:
            return Compaction(None, Report(before, before, fits=False, why="nothing can be left out"))
        layout = Layout(head_end=0, cut=cut, summary=handover.wrap(NOTICE), depth=1)
        layout = restating(layout, task.rows, sizer.costs, room=max(task.budget.room // 4, 1))
        if task.posture is not Posture.NORMAL:
            layout = cut_bodies(layout, task.rows, fits=lambda plan: sizer.tokens(plan) <= task.budget.usable)
        after = sizer.tokens(layout)
        return Compaction(layout, Report(before, after, folded=cut, fits=after <= task.budget.usable))
