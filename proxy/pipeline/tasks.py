"""
The one place where background tasks are started: it keeps the reference and drains them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

T = TypeVar("T")
log = structlog.get_logger()
LASTING = frozenset({"vocabulary", "sweep"})
"""Tasks that run as long as the process, or that nobody waits for at its end."""


class TaskKeeper:
    """
    Holds running tasks until they end; a fault in one is an event, never a crash.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """
        Run *work* in the background.
        """
        task = asyncio.create_task(work, name=name)  # noqa: TID251 - this is the place that keeps the reference
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def settled(self) -> None:
        """
        Wait until no task is left, but for those that run as long as the process.
        """
        while running := self._passing():
            await asyncio.wait(running)

    async def drain(self, seconds: float) -> None:
        """
        Wait for the running tasks, at most *seconds*, then cancel what is left.
        """
        if running := self._passing():
            await asyncio.wait(running, timeout=seconds)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _passing(self) -> list[asyncio.Task[Any]]:
        return [task for task in self._tasks if task.get_name() not in LASTING]

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.warning("task.failed", task=task.get_name(), fault=type(fault).__name__)
