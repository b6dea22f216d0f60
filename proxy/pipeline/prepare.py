"""
Make the next record after an answer, while nobody waits.
"""

from __future__ import annotations

from proxy.errors import ProxyError
from proxy.pipeline.compacting import Compacting
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.plan import Plan
from proxy.pipeline.tasks import TaskKeeper

MOST_AT_ONCE = 16


class Preparation:
    """
    Starts at most one preparation for each conversation, and a bounded number in all.
    """

    def __init__(self, compacting: Compacting, tasks: TaskKeeper) -> None:
        self._compacting = compacting
        self._tasks = tasks
        self._running: set[str] = set()

    def after(self, exchange: Exchange, plan: Plan, *, real_tokens: int | None) -> None:
        """
        Prepare the next record where the real size of the request passed ``prepare_at``.
        """
        share, scene = exchange.compaction.prepare_at, plan.scene
        if share is None or scene is None or plan.sent_tokens is None or exchange.mode != "compact":
            return
        size = real_tokens / scene.scale if real_tokens else plan.sent_tokens
        if size < share * scene.budget.threshold or scene.known.pending is not None or plan.kind == "compacted":
            return
        lineage = scene.identity.digests[-1] if scene.identity.digests else ""
        if lineage in self._running or len(self._running) >= MOST_AT_ONCE:
            return
        self._running.add(lineage)
        self._tasks.start(self._prepare(exchange, plan, lineage, share), name="prepare")

    async def _prepare(self, exchange: Exchange, plan: Plan, lineage: str, share: float) -> None:
        scene = plan.scene
        try:
            if scene is not None:
                room = int((1 - share) * scene.budget.threshold)
                await self._compacting.prepare(exchange, scene, keep_growing=room)
        except ProxyError:
            return  # the next compaction simply makes its own
        finally:
            self._running.discard(lineage)
