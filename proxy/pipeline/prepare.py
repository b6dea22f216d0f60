"""
Make the next record after an answer, while nobody waits.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from time import monotonic

from proxy.errors import ProxyError
from proxy.pipeline.compacting import Compacting
from proxy.pipeline.conversations import Conversations
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.patience import patience
from proxy.pipeline.plan import Plan
from proxy.pipeline.scene import Scene
from proxy.pipeline.tasks import TaskKeeper

MOST_AT_ONCE = 16
_Turn = tuple[str, str, str]


class Preparation:
    """
    Runs at most one preparation for each conversation, and a bounded number in all.
    """

    def __init__(self, compacting: Compacting, conversations: Conversations, tasks: TaskKeeper) -> None:
        self._compacting = compacting
        self._conversations = conversations
        self._tasks = tasks
        self._running: dict[_Turn, asyncio.Task[None]] = {}

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
        if not scene.identity.digests or len(self._running) >= MOST_AT_ONCE or self._of(scene) is not None:
            return
        turn = _turns(scene)[0]
        room = int((1 - share) * scene.budget.threshold)
        self._running[turn] = self._tasks.start(self._prepare(exchange, scene, turn, room), name="prepare")

    async def awaited(self, exchange: Exchange, scene: Scene) -> Scene:
        """
        Wait for what is being prepared for this conversation, as long as a summary may be waited for, and return the
        scene with what is there then: a second summary of nearly the same rows would cost more and come later.
        """
        running = self._of(scene)
        if running is None:
            return scene
        started = monotonic()
        await asyncio.wait({running}, timeout=patience(exchange))
        exchange.waited += monotonic() - started
        return replace(scene, known=await self._conversations.known(scene.identity, scene.rows))

    def _of(self, scene: Scene) -> asyncio.Task[None] | None:
        """
        Return the preparation that an earlier turn of the conversation started.
        """
        if not self._running:
            return None
        return next((task for turn in _turns(scene) if (task := self._running.get(turn)) is not None), None)

    async def _prepare(self, exchange: Exchange, scene: Scene, turn: _Turn, room: int) -> None:
        try:
            await self._compacting.prepare(exchange, scene, keep_growing=room)
        except ProxyError:
            return  # the next compaction simply makes its own
        finally:
            self._running.pop(turn, None)


def _turns(scene: Scene) -> list[_Turn]:
    """
    Return what tells a conversation at this turn and at each earlier one, the latest first.
    """
    identity = scene.identity
    return [(identity.scope, identity.model, digest) for digest in reversed(identity.digests)]
