"""
The ``window`` engine: plain truncation, the honest baseline.
"""

from __future__ import annotations

from proxy.compaction import handover
from proxy.compaction.bound import TailRule, tail_start
from proxy.compaction.layout import Layout
from proxy.compaction.restate import restating
from proxy.engines.base import Compaction, Engine, Posture, Summarize, Task
from proxy.engines.bench import Bench
from proxy.engines.fitting import cut_to_fit
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
        budget = task.budget
        bench = Bench(task, Sizer(task.rows, self._counter, fixed=budget.fixed), list(task.rows))
        kept = max(budget.target - budget.fixed, 1)
        if task.posture is not Posture.NORMAL:
            kept //= 4
        cut = tail_start(bench.rows, bench.sizer.costs, TailRule(kept, kept, rows=1, user_rounds=1))
        if cut == 0 and task.posture is Posture.NORMAL:
            return bench.refused("nothing can be left out")
        layout = bench.base
        if cut > layout.cut:
            layout = Layout(head_end=0, cut=cut, summary=handover.hand_over(NOTICE, window=budget.window), depth=1)
            layout = restating(layout, bench.rows, bench.sizer.costs, room=max(budget.room // 4, 1))
        if task.posture is not Posture.NORMAL:
            layout = cut_to_fit(bench, layout)
        return bench.finished(layout)
