"""
What is known about one request before anything is decided: its rows, sizes, window, budget and records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from proxy.chat.json import dumps
from proxy.chat.messages import Message
from proxy.chat.request import ChatRequest
from proxy.compaction.budget import Budget, Ratios
from proxy.compaction.layout import Layout, emit, frozen, layout_of, with_thinking
from proxy.compaction.repair import make_strict, repair_pairs
from proxy.compaction.validate import validate
from proxy.pipeline.conversations import Identity, Known
from proxy.pipeline.settings import CompactionSettings
from proxy.windows.reserve import threshold, usable
from proxy.windows.resolve import Window

SMALLEST_ROOM = 0.25
"""Where system and tools leave less than this share of the threshold, the threshold moves up."""


@dataclass(frozen=True, slots=True)
class Scene:
    """
    One request, measured: *fixed* and *total* are our tokens of the system rows and tools, and of the whole request.

    *scale* is the model's tokens for one of ours. *strict* says that the upstream insists on strict roles.
    *extra* are top-level fields added to whatever is rewritten: the wish for usage in a stream.
    """

    request: ChatRequest
    system: Sequence[Message]
    rows: Sequence[Message]
    fixed: int
    total: int
    scale: float
    window: Window
    budget: Budget
    identity: Identity
    known: Known
    strict: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    _last: list[tuple[Layout, Sequence[Message]]] = field(default_factory=list, repr=False, compare=False)

    @property
    def resumed(self) -> Layout | None:
        """
        The layout in force, made on an earlier turn.
        """
        if self.known.live is None:
            return None
        layout = layout_of(self.known.live)
        return with_thinking(layout) if self.strict else layout

    @property
    def bytes_beside(self) -> int:
        """
        The bytes of the body that are not the rows'.
        """
        return len(self.request.body) - sum(len(dumps(row)) + 1 for row in self.rows)

    def scaled(self, tokens: int) -> int:
        """
        Return our tokens as the model's.
        """
        return round(tokens * self.scale)

    def laid_out(self, layout: Layout | None) -> Sequence[Message]:
        """
        Return the rows behind the system rows as *layout* writes them; made once for the layout asked for last.
        """
        if layout is None:
            return self.rows
        if not self._last or self._last[0][0] != layout:
            covered = len(self.system) + layout.covered
            known = self.request.notes.of_first(covered, ("frozen", layout), lambda: frozen(layout, self.rows))
            self._last[:] = [(layout, repair_pairs(emit(layout, self.rows, known)))]
        return self._last[0][1]

    def emitted(self, layout: Layout | None) -> list[Message]:
        """
        Return all rows as they are sent in *layout*, checked against the client's own.

        Raises ``IllegalPlanError`` where a rule would be broken that the client keeps.
        """
        messages = [*self.system, *self.laid_out(layout)]
        if self.strict:
            messages = make_strict(messages)
        validate(messages, self.request.messages, strict=self.strict)
        return messages


def beside_changing_rows(budget: Budget, known: Known, running: Sequence[int]) -> Budget:
    """
    Return the budget beside the rows that the client sends anew each turn; *running* are the tokens up to each row.
    """
    return budget.holding(running[-1] - running[-1 - known.changing]) if known.changing else budget


def most_and_start(
    settings: CompactionSettings, *, window: int, asked_output: int | None, scale: float
) -> tuple[int, int]:
    """
    Return what a prompt may take and the threshold, in our tokens, before it is known what cannot be compacted.
    """
    most = usable(window, asked_output)
    start = threshold(
        window,
        most,
        percent=settings.threshold_percent,
        minimum=settings.minimum_threshold_tokens,
        absolute=settings.threshold_tokens,
    )
    return int(most / scale), int(start / scale)


def make_budget(
    settings: CompactionSettings, *, window: int, asked_output: int | None, fixed: int, scale: float
) -> Budget:
    """
    Return the budget of a request in our tokens, for a *window* in the model's.
    """
    most, start = most_and_start(settings, window=window, asked_output=asked_output, scale=scale)
    if start - fixed < start * SMALLEST_ROOM:
        # System and tools alone nearly fill the threshold: compacting at it would be of no use, turn after turn. A low
        # threshold in a large window is no such case: it is what was asked for.
        start = fixed + max(most - fixed, 0) // 2
    ratios = Ratios(
        target=settings.target_ratio,
        tail=settings.summary_target_ratio,
        protect_first=settings.protect_first_n,
        protect_last=settings.protect_last_n,
        minimum_gain=settings.minimum_gain,
    )
    return Budget(window=int(window / scale), usable=most, threshold=min(start, most), fixed=fixed, ratios=ratios)
