"""
Ask every worker, and tell their answers as if there were one process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from proxy.admin.channel import asked, read
from proxy.admin.questions import Details
from proxy.errors import BadRequestError, UnansweredError

PUBLISH = "publish"
"""The question that has a worker write its gauges where they are collected."""
_SECONDS = 5.0
_AGAIN_SECONDS = 1.0
_MOST_WAITING = 1_000


class ManyProcesses:
    """
    The workers whose sockets are *paths*; *collect* returns the metrics that they share.
    """

    def __init__(self, paths: Sequence[Path], *, collect: Callable[[], bytes], seconds: float = _SECONDS) -> None:
        self._paths = tuple(paths)
        self._collect = collect
        self._seconds = seconds

    async def ask(self, question: str, details: Details) -> Any:
        """
        Return the answer of the first worker that has one. Raises ``UnansweredError``, and what the worker raised.
        """
        for path in self._paths:
            for answer in _answers(question, [await self._ask(path, question, details)]):
                return answer
        raise UnansweredError(question)

    async def ask_all(self, question: str, details: Details) -> Sequence[Any]:
        """
        Return the answers of all workers; one that is dead, or too slow, is left out.
        """
        return _answers(question, await asyncio.gather(*(self._ask(path, question, details) for path in self._paths)))

    async def follow(self, stream: str) -> AsyncIterator[Any]:
        """
        Yield what any worker tells; one that is replaced is listened to again.
        """
        heard: asyncio.Queue[Any] = asyncio.Queue(_MOST_WAITING)
        listening = [asyncio.ensure_future(self._listen(path, stream, heard)) for path in self._paths]
        try:
            while True:
                yield await heard.get()
        finally:
            for task in listening:
                task.cancel()
            await asyncio.gather(*listening, return_exceptions=True)

    async def metrics(self) -> bytes:
        """
        Return the metrics of all workers, and what those counted that died.
        """
        await self.ask_all(PUBLISH, {})
        return await asyncio.to_thread(self._collect)

    async def _ask(self, path: Path, question: str, details: Details) -> dict[str, Any]:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(self._seconds), asked(path, question, details) as reader:
                answer: dict[str, Any] = await read(reader)
                return answer
        return {}

    async def _listen(self, path: Path, stream: str, heard: asyncio.Queue[Any]) -> None:
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                async with asked(path, stream, {}) as reader:
                    while True:
                        for event in _answers(stream, [await read(reader)]):
                            await heard.put(event)
            await asyncio.sleep(_AGAIN_SECONDS)


def _answers(question: str, told: Sequence[dict[str, Any]]) -> list[Any]:
    """
    Return the answers among what workers told; raise what one of them refused with.
    """
    for one in told:
        if "unknown" in one:
            raise KeyError(question)
        if "refused" in one:
            raise BadRequestError(*one["refused"])
    return [one["answer"] for one in told if "answer" in one]
