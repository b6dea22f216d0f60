"""
The seam every engine stands behind: rows, the previous layout and a budget in, a new layout and a report out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from proxy.chat.messages import Message
from proxy.compaction.budget import Budget
from proxy.compaction.layout import Layout
from proxy.summaries.base import Summary, SummaryJob

Summarize = Callable[[SummaryJob], Awaitable[Summary]]


class Posture(StrEnum):
    """
    How hard to compact.

    ``normal`` prunes and summarises down to the target; ``squeeze`` stubs every old result, drops old media, halves
    the tail and cuts long bodies; ``hard_fit`` keeps the latest ask and the pending round alone, cut inside if it must.
    """

    NORMAL = "normal"
    SQUEEZE = "squeeze"
    HARD_FIT = "hard_fit"


POSTURES = tuple(Posture)
"""The gentlest first: the passes of one compaction, and the levels of the ladder."""


@dataclass(frozen=True, slots=True)
class Task:
    """
    One compaction to be made: the leading *system* rows, the *rows* after them, the layout they are sent in now.

    *byte_limit* is a second budget, in bytes, for the rows alone. *keep_growing* leaves that many tokens of the tail
    budget free for turns still to come, as background preparation needs. *prune_alone* lets pruning do where it
    suffices, which saves a model's work; an extract costs none, and keeps far more of what tools said than stubs.
    *again* is a layout whose rows are to be folded once more, from the originals, its cut and its edits left as they are.
    *changing* rows at the end will be other ones next time: a layout that covers one of them is never resumed.
    *keep_thinking* says that the upstream misses reasoning that goes, even where nothing else is left to go.
    """

    system: Sequence[Message]
    rows: Sequence[Message]
    previous: Layout | None
    budget: Budget
    posture: Posture = Posture.NORMAL
    byte_limit: int | None = None
    focus: str | None = None
    rederive_depth: int = 4
    keep_growing: int = 0
    prune_alone: bool = True
    again: Layout | None = None
    keep_thinking: bool = False
    changing: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """
    What a compaction did: tokens *before* and *after*, rows *folded* and *edited*, whether the result *fits*.

    *why* says why nothing was done where that is so.
    """

    before: int
    after: int
    folded: int = 0
    edited: int = 0
    fits: bool = True
    summary: Summary | None = None
    job: SummaryJob | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Compaction:
    """
    The new layout, ``None`` where there is nothing to gain, and its report.
    """

    layout: Layout | None
    report: Report


class Engine(ABC):
    """
    Decides what of a conversation is folded. Pure: no state, no input or output but through *summarize*.
    """

    name: str

    @abstractmethod
    async def compact(self, task: Task, *, summarize: Summarize) -> Compaction:
        """
        Return a smaller layout for *task*.
        """
