"""
A fault: what one refusal of an upstream means, as facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Unit = Literal["tokens", "bytes", "characters"]


class Label(StrEnum):
    """
    The kinds of refusal that call for different answers.
    """

    CONTEXT_OVERFLOW = "context_overflow"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    LONG_CONTEXT_TIER = "long_context_tier"
    RATE_LIMIT = "rate_limit"
    OUTPUT_CAP = "output_cap"
    IMAGE_TOO_LARGE = "image_too_large"
    INVALID_REQUEST_OTHER = "invalid_request_other"
    AUTH = "auth"
    BILLING_QUOTA = "billing_quota"
    OVERLOADED_5XX = "overloaded_5xx"
    CONTENT_FILTER = "content_filter"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Fault:
    """
    One refusal: its *label*, the upstream's own *message*, and the numbers that it states.

    *limit*, *prompt*, *output*, *total* and *excess* are the upstream's tokens and speak of a context window, never of
    a rate, a balance or an output cap; those stand in *rate_limit* and *output_cap*.
    """

    label: Label
    status: int | None = None
    message: str = ""
    limit: int | None = None
    prompt: int | None = None
    output: int | None = None
    total: int | None = None
    excess: int | None = None
    unit: Unit | None = None
    byte_limit: int | None = None
    character_limit: int | None = None
    rate_limit: int | None = None
    output_cap: int | None = None
    max_tokens_issue: bool = False
    """Prompt and output together are too much, the prompt alone is not."""
    at_least: bool = False
    """The prompt is only a lower bound, derived from the window: no good for scaling."""
    shrink_helps: bool = False
    """A rate limit that no waiting cures: more is asked for than a whole period allows."""
    output_rate: bool = False
    """A rate limit that counts the output alone."""
    structure: bool = False
    """A complaint about pairing, alternation or thinking blocks."""
    known: bool = True
    """Whether a rule knows the wording; if not, it is worth an event."""
    empty_stream: bool = False
    """A stream of status 200 that ended before it said anything."""
    wording: str = ""
    """The shape of a wording that no rule knows, fit for a log."""
    confident: bool = True
    """Whether the refusal gives its reason; an empty or generic one needs corroboration."""

    @property
    def requested(self) -> int | None:
        """
        The size the upstream refused: what it counted as the total, else the prompt alone.
        """
        return self.total if self.total is not None else self.prompt
