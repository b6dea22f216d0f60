"""
Ask plug-ins, before a summary is written, what of the conversation they want kept.

Whatever a plug-in does wrong costs its own words alone: its time is bounded, its faults are named in an event.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any

import structlog

from proxy.chat.json import dumps, loads
from proxy.chat.messages import Message
from proxy.pipeline.plugins import Plugin
from proxy.summaries.base import Note
from proxy.summaries.keeping import note

MOST_AT_ONCE = 4
"""A plug-in that hangs is not called again while so many calls of it have not come back."""
log = structlog.get_logger()


@dataclass(slots=True)
class _Hook:
    name: str
    call: Callable[[list[Any]], Any]
    running: int = 0


class Hooks:
    """
    Calls ``on_pre_compress(messages) -> str`` of every plug-in that has it, all at a time.
    """

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self._hooks = [
            _Hook(plugin.name, plugin.hooks.on_pre_compress)
            for plugin in plugins
            if callable(getattr(plugin.hooks, "on_pre_compress", None))
        ]

    async def on_pre_compress(self, messages: Sequence[Message], *, seconds: float, mask: bool) -> tuple[Note, ...]:
        """
        Return what plug-ins want kept, secrets masked and cut to size; a plug-in has so many *seconds*.
        """
        if not self._hooks:
            return ()
        body = dumps(list(messages))
        said = await asyncio.gather(*(self._ask(hook, body, seconds) for hook in self._hooks))
        found = (note(hook.name, text, mask=mask) for hook, text in zip(self._hooks, said, strict=True))
        return tuple(one for one in found if one is not None)

    async def _ask(self, hook: _Hook, body: bytes, seconds: float) -> str:
        if hook.running >= MOST_AT_ONCE:
            return self._failed(hook, "busy")
        hook.running += 1
        try:
            text = await asyncio.wait_for(self._in_thread(hook, body), seconds)
        except TimeoutError:
            return self._failed(hook, "TimeoutError")
        except Exception as fault:  # noqa: BLE001 - foreign code: whatever it raises costs its own words alone
            return self._failed(hook, type(fault).__name__)
        return text if isinstance(text, str) else ""

    def _in_thread(self, hook: _Hook, body: bytes) -> asyncio.Future[Any]:
        """
        Call the hook in a thread that nobody waits for at the end, with rows of its own to do with as it likes.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def work() -> None:
            value, fault = None, None
            try:
                value = hook.call(loads(body))
                if inspect.isawaitable(value):
                    value = asyncio.run(_finished(value))
            except BaseException as exc:  # noqa: BLE001 - sys.exit() in a plug-in ends nothing
                fault = exc if isinstance(exc, Exception) else RuntimeError(type(exc).__name__)
            with suppress(RuntimeError):  # the loop may be gone by now
                loop.call_soon_threadsafe(settle, value, fault)

        def settle(value: Any, fault: Exception | None) -> None:
            hook.running -= 1
            if not future.done():
                future.set_exception(fault) if fault else future.set_result(value)

        thread = Thread(target=work, daemon=True, name=f"plugin {hook.name}")
        try:
            thread.start()
        except RuntimeError as fault:  # there are too many threads already
            settle(None, fault)
        return future

    @staticmethod
    def _failed(hook: _Hook, fault: str) -> str:
        log.warning("plugin.failed", plugin=hook.name, step="on_pre_compress", fault=fault)
        return ""


async def _finished(work: Any) -> Any:
    return await work
