"""
What the proxy does about each label: the table that the ladder acts on and that the fault matrix is made from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from proxy.recovery.fault import Fault, Label


class Cure(StrEnum):
    """
    A kind of answer to a refusal.
    """

    SHRINK_TOKENS = "compact by tokens"
    SHRINK_BYTES = "compact by bytes"
    LEAVE_LONG_TIER = "compact to 200,000 tokens"
    SHRINK_FOR_RATE = "compact below the rate limit"
    CLAMP_OUTPUT = "lower max_tokens to the cap"
    REPAIR = "send again with strict roles"
    PASS = "nothing"  # noqa: S105 - no password


class Verdict(StrEnum):
    """
    How an exchange with the upstream ended.
    """

    ACCEPTED = "accepted"
    PASS = "pass the upstream's answer"  # noqa: S105 - no password
    GIVE_UP = "give up with context_length_exceeded"


@dataclass(frozen=True, slots=True)
class Action:
    """
    The *cure* of one label, *when* it is tried, and how the exchange ends *uncured*.
    """

    cure: Cure
    when: str
    uncured: Verdict = Verdict.PASS


ACTIONS: Mapping[Label, Action] = {
    Label.CONTEXT_OVERFLOW: Action(
        Cure.SHRINK_TOKENS,
        "At any status. max_tokens is lowered first where it alone is at fault; else compact to the stated window, or to"
        " the next tier; then squeeze, then hard fit.",
        Verdict.GIVE_UP,
    ),
    Label.PAYLOAD_TOO_LARGE: Action(
        Cure.SHRINK_BYTES,
        "To the stated number of bytes, which is learned, else to max_body, else to half of what was refused and to the next"
        " tier, for this request only.",
        Verdict.GIVE_UP,
    ),
    Label.LONG_CONTEXT_TIER: Action(
        Cure.LEAVE_LONG_TIER, "Once, where the status is 429; the 400 form of the beta passes."
    ),
    Label.RATE_LIMIT: Action(
        Cure.SHRINK_FOR_RATE,
        "Only where more is requested than the limit, so that waiting can never help; max_tokens alone is lowered where"
        " it alone is at fault, as with a limit on output tokens.",
    ),
    Label.OUTPUT_CAP: Action(Cure.CLAMP_OUTPUT, "Once, where the request has max_tokens and the cap is stated."),
    Label.INVALID_REQUEST_OTHER: Action(
        Cure.REPAIR, "Once, where the complaint is about pairs, roles or thinking blocks of a request that we rewrote."
    ),
    Label.IMAGE_TOO_LARGE: Action(Cure.PASS, "Never."),
    Label.AUTH: Action(Cure.PASS, "Never."),
    Label.BILLING_QUOTA: Action(Cure.PASS, "Never."),
    Label.OVERLOADED_5XX: Action(Cure.PASS, "Never: SDKs repeat it themselves."),
    Label.CONTENT_FILTER: Action(Cure.PASS, "Never."),
    Label.OTHER: Action(Cure.PASS, "Never."),
}

CORROBORATED_AT = 0.80
"""A refusal without a reason is taken for an overflow when the prompt fills at least this share of the window."""


def cure_of(fault: Fault, *, fullness: float) -> Cure:
    """
    Return what is tried against *fault*; *fullness* is our count of the prompt as a share of the believed window.
    """
    if fault.confident or fault.label is Label.PAYLOAD_TOO_LARGE:
        return ACTIONS[fault.label].cure
    return Cure.SHRINK_TOKENS if fullness >= CORROBORATED_AT else Cure.PASS


def uncured(fault: Fault) -> Verdict:
    """
    Return how an exchange ends on *fault* when nothing cured it.
    """
    return ACTIONS[fault.label].uncured if fault.confident else Verdict.PASS
