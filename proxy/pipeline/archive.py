"""
Keep what is folded, and what a compaction looked like before and after, where settings ask for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from proxy.chat.messages import Message
from proxy.pipeline.tasks import TaskKeeper
from proxy.privacy.redact import redact
from proxy.records.record import Record
from proxy.records.settings import StoreSettings
from proxy.records.shelf import Shelf
from proxy.records.store import RecordStore

VIEW_ROWS = 200
"""Rows of one side of a view; the newest ones stay."""
VIEW_CHARACTERS = 2_000
"""Characters of one text of a view."""


class Archive:
    """
    Writes pages in the background; each holds only the rows that its record folded beyond its parent's.
    """

    def __init__(self, store: RecordStore, tasks: TaskKeeper, settings: StoreSettings) -> None:
        self._shelf = Shelf(store)
        self._tasks = tasks
        self._settings = settings

    def folded(self, record: Record, parent: Record | None, rows: Sequence[Message], *, mask: bool) -> None:
        """
        Keep the client's rows that *record* folded and *parent* did not; with *mask*, secrets in them are masked.
        """
        if not self._settings.archive:
            return
        begin = parent.cut if parent is not None else 0
        folded = list(rows[begin : record.cut])
        self._tasks.start(self._keep_folded(record.key, begin, folded, mask), name="archive")

    def viewed(self, record: Record, before: Sequence[Message], after: Sequence[Message], *, mask: bool) -> None:
        """
        Keep how a request looked *before* and *after* the compaction of *record*, shortened.
        """
        if not self._settings.keep_views:
            return
        sides = {"before": list(before), "after": list(after)}
        self._tasks.start(self._keep_view(record.key, sides, mask), name="view")

    async def _keep_folded(self, key: str, begin: int, rows: list[Message], mask: bool) -> None:
        kept = await asyncio.to_thread(_masked, rows) if mask else rows
        await self._shelf.put("archive", key, {"begin": begin, "rows": kept})

    async def _keep_view(self, key: str, sides: dict[str, list[Message]], mask: bool) -> None:
        await self._shelf.put("view", key, await asyncio.to_thread(_view, sides, mask))


def _view(sides: dict[str, list[Message]], mask: bool) -> dict[str, Any]:
    view: dict[str, Any] = {}
    for name, rows in sides.items():
        shown = rows[-VIEW_ROWS:]
        view[name] = _shortened(_masked(shown) if mask else shown)
        view[f"{name}_left_out"] = len(rows) - len(shown)
    return view


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if isinstance(value, dict):
        return {key: _masked(item) for key, item in value.items()}
    return value


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= VIEW_CHARACTERS else value[:VIEW_CHARACTERS] + "…"
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    return value
