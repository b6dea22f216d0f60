"""
The policy of recovery, as plain values: whoever reads the configuration hands them in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from proxy.recovery.fault import Label


class Searching(Protocol):
    """
    A compiled pattern.
    """

    def search(self, text: str, /) -> object | None:
        """
        Return what is found in *text*, ``None`` where that is nothing.
        """


@dataclass(frozen=True, slots=True)
class PatternRule:
    """
    A wording of a provider of your own, asked before the built-in rules; *status* ``None`` stands for any.
    """

    label: Label
    regex: Searching
    status: int | None = None

    def matches(self, status: int | None, text: str) -> bool:
        """
        Say whether an answer with this *status* and folded *text* is meant.
        """
        return self.status in (None, status) and self.regex.search(text) is not None


class RecoverySettings(Protocol):
    """
    What the ladder has to be told.
    """

    @property
    def max_attempts(self) -> int:
        """
        Upstream tries of one request, the first included.
        """

    @property
    def deadline(self) -> float:
        """
        Seconds after which no new try is made.
        """

    @property
    def clamp_max_tokens(self) -> bool:
        """
        Whether the asked output is lowered where it alone is at fault.
        """

    @property
    def shrink_for_rate_limits(self) -> bool:
        """
        Whether to compact where a rate limit is smaller than the request.
        """

    @property
    def tiers(self) -> Sequence[int]:
        """
        Windows to step down to when an error states no number, in tokens.
        """
