"""
What the ladder and its caller tell each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from proxy.recovery.actions import Verdict
from proxy.recovery.fault import Fault


class Rung(StrEnum):
    """
    The steps of the ladder, gentle to hard.
    """

    AS_PLANNED = "as_planned"
    CLAMP = "clamp_max_tokens"
    REPAIR = "repair"
    COMPACT = "compact"
    SQUEEZE = "squeeze"
    HARD_FIT = "hard_fit"


SQUEEZE_LEVELS = {Rung.COMPACT: 0, Rung.SQUEEZE: 1, Rung.HARD_FIT: 2}


@dataclass(frozen=True, slots=True)
class Situation:
    """
    What is known before the first try; tokens are our own count.
    """

    window_tokens: int
    """The believed window."""
    asked_output: int | None = None
    """The request's ``max_tokens``, if it has one."""
    thinking_budget: int = 0
    """``max_tokens`` must stay above it."""
    max_body: int | None = None
    """The configured byte budget of the upstream."""
    largest_accepted: int = 0
    """The largest prompt that this upstream accepted so far."""
    least_window: int | None = None
    """The smallest window that holds what cannot be left out; the last try aims at it where no number was stated."""
    least_bytes: int | None = None
    """The same in bytes."""
    window_known: bool = True
    """Whether the believed window is more than the default."""
    minimum_gain: float = 0.05
    """A plan that gains less than this share is not worth a try."""
    tries: int = 1
    """Upstream tries so far, the one that was refused included."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """
    One thing to send: the request planned for *window_tokens* and *byte_budget* (``None``: as believed).

    *number* counts upstream tries. *squeeze* is 0 for an ordinary compaction, 1 for the squeeze, 2 for the hard fit.
    *max_tokens* replaces the request's own. The ceilings are what the plan may weigh to be worth sending.
    """

    number: int = 1
    rung: Rung = Rung.AS_PLANNED
    window_tokens: int | None = None
    byte_budget: int | None = None
    max_tokens: int | None = None
    squeeze: int = 0
    strict_roles: bool = False
    ceiling_tokens: int | None = None
    ceiling_bytes: int | None = None

    def worth_sending(self, *, tokens: int, size: int) -> bool:
        """
        Say whether a plan of *tokens* and *size* bytes gains enough in the unit that failed.
        """
        if self.ceiling_tokens is not None and tokens > self.ceiling_tokens:
            return False
        return self.ceiling_bytes is None or size <= self.ceiling_bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What became of an attempt: refused with *fault*, accepted (``None``), or not sent at all (*skipped*).

    *sent_tokens* (our count of the prompt) and *sent_bytes* are what was really sent; *rewritten* says that it was not
    the client's own body.
    """

    fault: Fault | None = None
    sent_tokens: int = 0
    sent_bytes: int = 0
    skipped: bool = False
    rewritten: bool = False


@dataclass(frozen=True, slots=True)
class Ending:
    """
    The last word: the *verdict*, the *fault* it rests on, the *attempt* that was accepted or came last.
    """

    verdict: Verdict
    attempt: Attempt
    fault: Fault | None = None
