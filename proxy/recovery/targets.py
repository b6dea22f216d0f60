"""
How small the next try has to be.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxy.recovery.attempt import Outcome, Situation
from proxy.recovery.fault import Fault, Label
from proxy.windows.tiers import next_tier

BLIND_SHARE = 0.7
"""The share of a refused prompt that is tried where the stated numbers do not explain the refusal."""
LONG_CONTEXT_WINDOW = 200_000
OUTPUT_SHARE = 4
"""Output that leaves the prompt less than three quarters of the window is lowered to a quarter of it."""
USEFUL_OUTPUT = 1_000
COMMON_BODY = 950_000
"""Bytes: below the megabyte at which web servers cut unless told otherwise."""


def token_target(rejected: Outcome, situation: Situation, *, believed: int, tiers: Sequence[int]) -> int:
    """
    Return the window, in our tokens, that the next plan has to fit.
    """
    assert rejected.fault is not None
    stated = stated_target(rejected.fault, rejected, situation)
    if stated is not None:
        return max(1, stated)
    if rejected.fault.limit is not None:
        return kept_above(int(BLIND_SHARE * rejected.sent_tokens), rejected, situation)
    return tier_target(rejected, situation, believed=believed, tiers=tiers)


def stated_target(fault: Fault, rejected: Outcome, situation: Situation) -> int | None:
    """
    Return the window that the numbers of *fault* come to in our tokens, ``None`` where they do not explain it.
    """
    sent = rejected.sent_tokens
    if fault.character_limit is not None:
        return _scaled(sent, fault.character_limit, rejected.sent_bytes)
    if fault.limit is None:
        return sent - fault.excess if fault.excess is not None and fault.excess < sent else None
    theirs = their_prompt(fault, situation)
    if theirs is not None:
        # A prompt that fits alone was refused for its output: the window holds both, so it is the window that counts.
        scaled = sent * fault.limit // theirs
        return scaled if scaled < sent or fault.max_tokens_issue else None
    return fault.limit if fault.limit < sent else None


def their_prompt(fault: Fault, situation: Situation) -> int | None:
    """
    Return the upstream's count of the prompt; a lower bound is none.
    """
    if fault.at_least:
        return None
    if fault.prompt is not None:
        return fault.prompt or None
    if fault.total is None:
        return None
    alone = fault.total - (fault.output or situation.asked_output or 0)
    return alone if alone > 0 else fault.total


def tier_target(rejected: Outcome, situation: Situation, *, believed: int, tiers: Sequence[int]) -> int:
    """
    Return the next tier below what is believed and below what was refused.
    """
    ceiling = min(believed, rejected.sent_tokens)
    return kept_above(next_tier(ceiling, tiers) or ceiling // 2, rejected, situation)


def kept_above(guess: int, rejected: Outcome, situation: Situation) -> int:
    """
    Lift a guess to the largest accepted prompt, unless the refusal of a smaller one contradicts that.
    """
    accepted = situation.largest_accepted
    return max(1, guess, accepted if accepted < rejected.sent_tokens else 0)


def byte_target(rejected: Outcome, situation: Situation) -> tuple[int, bool]:
    """
    Return the byte budget, and whether it is a known limit.
    """
    assert rejected.fault is not None
    for known in (rejected.fault.byte_limit, situation.max_body):
        if known is not None and 0 < known < rejected.sent_bytes:
            return known, True
    return max(1, rejected.sent_bytes // 2), False


def is_guess(rejected: Outcome, situation: Situation) -> bool:
    """
    Say whether nobody stated how small the next try has to be.
    """
    fault = rejected.fault
    if fault is None or fault.label in {Label.RATE_LIMIT, Label.LONG_CONTEXT_TIER}:
        return False
    if fault.label is Label.PAYLOAD_TOO_LARGE:
        return not byte_target(rejected, situation)[1]
    return stated_target(fault, rejected, situation) is None


def last_targets(
    rejected: Outcome, situation: Situation, *, window: int | None, budget: int | None
) -> tuple[int | None, int | None]:
    """
    Return the targets of the last try where nobody stated a number: the least that holds what cannot be left out.

    A web server's default of a megabyte is tried before less than that.
    """
    if window is not None and situation.least_window is not None:
        window = min(window, kept_above(situation.least_window, rejected, situation))
    if budget is not None and situation.least_bytes is not None:
        budget = min(budget, max(situation.least_bytes, COMMON_BODY))
    return window, budget


def long_tier_target(rejected: Outcome) -> int | None:
    """
    Return the window outside the long-context tier; ``None`` where the prompt is nowhere near it.
    """
    sent = rejected.sent_tokens
    if sent > LONG_CONTEXT_WINDOW:
        return LONG_CONTEXT_WINDOW
    # Our count may run below theirs, but not by half.
    return int(BLIND_SHARE * sent) if sent > LONG_CONTEXT_WINDOW // 2 else None


def rate_target(rejected: Outcome, *, asked_output: int) -> int | None:
    """
    Return the prompt that a rate limit lets through beside *asked_output*.
    """
    fault = rejected.fault
    assert fault is not None
    if fault.rate_limit is None or fault.total is None:
        return None
    theirs = max(1, fault.total - asked_output)
    target = _scaled(rejected.sent_tokens, fault.rate_limit - asked_output, theirs)
    return target if target is not None and target > 0 else None


def rate_output(fault: Fault, *, asked_output: int) -> int | None:
    """
    Return the ``max_tokens`` that a rate limit lets through, where the asked output alone is at fault.

    A limit on output tokens is compared with what was asked for; one on all tokens with what the prompt leaves of it.
    """
    if fault.rate_limit is None:
        return None
    if fault.output_rate:
        return fault.rate_limit if fault.rate_limit < asked_output else None
    if fault.total is None or fault.total <= fault.rate_limit or fault.total <= asked_output:
        return None
    left = fault.rate_limit - (fault.total - asked_output) - margin_of(fault.rate_limit)
    return left if is_useful(left, asked_output) else None


def clamped_output(fault: Fault, situation: Situation) -> int | None:
    """
    Return the ``max_tokens`` that lets the refused prompt through; ``None`` where too little would be left.
    """
    asked = fault.output or situation.asked_output
    if fault.limit is not None and fault.prompt is not None and not fault.at_least:
        left = fault.limit - fault.prompt - margin_of(fault.limit)
    else:
        left = asked // 2 if asked else 0
    if asked is not None and left >= asked:
        return None
    return left if is_useful(left, asked) and left > situation.thinking_budget else None


def shared_output(fault: Fault, situation: Situation) -> int | None:
    """
    Return a lower ``max_tokens`` where the asked output alone leaves the prompt no room in the stated window.
    """
    asked = situation.asked_output
    counts_output = fault.output is not None or fault.total is not None or fault.max_tokens_issue
    if asked is None or fault.limit is None or not counts_output or asked <= fault.limit // OUTPUT_SHARE:
        return None
    share = max(fault.limit // OUTPUT_SHARE, situation.thinking_budget + 1)
    return share if share < asked else None


def margin_of(limit: int) -> int:
    """
    Return the tokens that stay free between prompt, output and *limit*: counts differ by a few.
    """
    return min(256, max(32, limit // 100))


def is_useful(left: int, asked: int | None) -> bool:
    """
    Say whether an answer of *left* tokens is worth having where *asked* were wished for.
    """
    return left >= min(USEFUL_OUTPUT, max(1, (asked or USEFUL_OUTPUT) // 4))


def _scaled(value: int, numerator: int, denominator: int) -> int | None:
    if denominator <= 0 or numerator >= denominator:
        return None
    return value * numerator // denominator
