"""
Count a request after its answer, where it was too small to be counted before and the upstream's count is too low for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from proxy.pipeline.exchange import Exchange
from proxy.pipeline.guarded import guarded, guarded_async
from proxy.pipeline.learning import Learning
from proxy.pipeline.plan import Plan
from proxy.pipeline.tasks import TaskKeeper
from proxy.pipeline.watching import Seen
from proxy.windows.truncation import HANDFUL, worth_counting

Measure = Callable[[Exchange, Plan], Awaitable[Plan | None]]


class SecondLook:
    """
    Learns from answers at once, and once more from those that no request was counted for beforehand: a server may cut
    prompts far below the window that we believe in.
    """

    def __init__(self, learning: Learning, measure: Measure, tasks: TaskKeeper) -> None:
        self._learning = learning
        self._measure = measure
        self._tasks = tasks

    def answered(self, exchange: Exchange, plan: Plan, seen: Seen) -> None:
        """
        Learn from an answer; count its request in the background, where there is reason to.
        """
        self._learning.answered(exchange, plan, seen)
        usage = seen.usage
        if usage is None or plan.scene is not None or exchange.mode == "off":
            return
        if exchange.glance is not None:
            return  # its bytes are images, whose tokens are too uncertain to call a count too low
        broke_off = seen.finish_reason == "length" and usage.completion <= HANDFUL
        if broke_off or worth_counting(body_bytes=len(plan.body), counted=usage.prompt + usage.cached):
            self._tasks.start(self._count(exchange, plan, seen), name="second look")

    def untold(self, exchange: Exchange) -> tuple[str, ...]:
        """
        Return the warnings that came too late for the answer they were about.
        """
        return self._learning.untold(exchange)

    async def _count(self, exchange: Exchange, plan: Plan, seen: Seen) -> None:
        measured = await guarded_async("measure", self._measure(exchange, plan), otherwise=None)
        if measured is not None:
            guarded("learn", lambda: self._learning.answered(exchange, measured, seen), otherwise=None)
