"""
Settings of recovery.
"""

from __future__ import annotations

import re
from functools import cached_property

from pydantic import Field, field_validator

from proxy.recovery.fault import Label
from proxy.telemetry.settings import Settings
from proxy.telemetry.units import Seconds

TIERS = (2_000_000, 1_000_000, 512_000, 256_000, 200_000, 128_000, 64_000, 32_000, 16_000, 8_000, 4_000)


class PatternRule(Settings):
    """
    A wording of your own provider, asked before the built-in rules.
    """

    status: int | None = Field(default=None, description="Only for answers with this status; null: any.")
    regex: str = Field(description="A regular expression, searched in the lower-cased text of the error.")
    label: Label = Field(description="What such an answer means, one of the labels of the fault matrix.")

    @field_validator("regex")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as exc:
            raise ValueError(f"not a regular expression: {exc}") from exc
        return value

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.regex, re.IGNORECASE)

    def matches(self, status: int | None, text: str) -> bool:
        """
        Say whether an answer with this *status* and folded *text* is meant.
        """
        return self.status in (None, status) and self._pattern.search(text) is not None


class RecoverySettings(Settings):
    """
    What is done when an upstream refuses a request for its size.
    """

    max_attempts: int = Field(default=4, ge=1, le=4, description="Upstream tries of one request, the first included.")
    deadline: Seconds = Field(default=300.0, ge=0, description="No new try after it; a running one is never cut.")
    clamp_max_tokens: bool = Field(
        default=True, description="Lower the asked output where it alone is at fault, or is above the model's cap."
    )
    shrink_for_rate_limits: bool = Field(
        default=True, description="Compact where a rate limit is smaller than the request, so that waiting cannot help."
    )
    limit_ttl: Seconds = Field(default=86_400.0, gt=0, description="How long limits stated by errors are believed.")
    tiers: tuple[int, ...] = Field(default=TIERS, description="Windows to step down to when an error states no number.")
    patterns: tuple[PatternRule, ...] = Field(default=(), description="Wordings of your own providers.")

    @field_validator("tiers")
    @classmethod
    def _descending(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(tier <= 0 for tier in value):
            raise ValueError("tiers are numbers of tokens above 0")
        return tuple(sorted(set(value), reverse=True))
