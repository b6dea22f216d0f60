"""
Measure a layout in tokens and bytes, each of the client's rows once.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxy.chat.json import dumps
from proxy.chat.messages import Message
from proxy.compaction.layout import Layout, emit
from proxy.compaction.repair import repair_pairs
from proxy.tokens.counter import TokenCounter


class Sizer:
    """
    Measures layouts over one list of *rows*; *fixed* tokens stand for the system rows and tools.
    """

    def __init__(self, rows: Sequence[Message], counter: TokenCounter, *, fixed: int) -> None:
        self._rows = rows
        self._counter = counter
        self._fixed = fixed
        self._own = {id(row): index for index, row in enumerate(rows)}
        self.costs = [counter.message(row) for row in rows]
        self._bytes: dict[int, int] = {}

    @property
    def counter(self) -> TokenCounter:
        """
        The one estimator of trigger, tail walk and progress.
        """
        return self._counter

    def tokens(self, layout: Layout | None) -> int:
        """
        Return the tokens of the whole request in this layout; ``None`` stands for the client's own rows.
        """
        return self._fixed + sum(self._cost(row) for row in self._emitted(layout))

    def bytes(self, layout: Layout | None) -> int:
        """
        Return the bytes of the rows in this layout.
        """
        return sum(self._size(row) + 1 for row in self._emitted(layout))

    def _emitted(self, layout: Layout | None) -> Sequence[Message]:
        return self._rows if layout is None else repair_pairs(emit(layout, self._rows))

    def _cost(self, row: Message) -> int:
        index = self._own.get(id(row))
        return self._counter.message(row) if index is None else self.costs[index]

    def _size(self, row: Message) -> int:
        if id(row) not in self._own:
            return len(dumps(row))
        if id(row) not in self._bytes:
            self._bytes[id(row)] = len(dumps(row))
        return self._bytes[id(row)]
