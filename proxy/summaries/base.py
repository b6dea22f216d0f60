"""
The seam every summariser stands behind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from proxy.chat.messages import Message


@dataclass(frozen=True, slots=True)
class Note:
    """
    What a plug-in wants kept: its *source*, the plug-in's name, and the *text*.
    """

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class SummaryJob:
    """
    What is to be summarised.

    *originals* are the client's rows from the first folded row up to the cut; *fresh* is the part of them that
    *previous*, the body of the last summary, does not cover yet. *tail* are the rows kept after the summary, as the
    model will see them. *evidence* are the originals with the tool rounds around them that stay as stubs. Budgets are
    tokens. *redact* masks secrets in whatever the summary is made from. *pinned* are words of the user that stay
    verbatim, *notes* what plug-ins set aside.
    """

    originals: Sequence[Message]
    fresh: Sequence[Message]
    previous: str | None
    tail: Sequence[Message]
    budget_tokens: int
    ceiling_tokens: int
    first_ask: str = ""
    focus: str | None = None
    redact: bool = True
    evidence: Sequence[Message] = ()
    pinned: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """
    A finished summary: its *text* (no handover prefix, no end marker), whether it is *degraded* (made by the fallback
    after a failure), and what its model calls cost.
    """

    text: str
    degraded: bool = False
    calls: int = 0
    prompt_tokens: int = 0
    failures: tuple[str, ...] = ()


class Summarizer(ABC):
    """
    Turns a stretch of conversation into a shorter text.
    """

    name: str

    @abstractmethod
    async def summarize(self, job: SummaryJob) -> Summary:
        """
        Return a summary of *job*. Raises ``SummaryError`` where none can be had.
        """
