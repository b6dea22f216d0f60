"""
The ladder of attempts: a pure retry policy that yields what to send next and is sent what became of it.

::

    ladder = recovery_ladder(situation, settings=settings, clock=clock)
    step = next(ladder)
    while isinstance(step, Attempt):
        step = resume(ladder, await send(step))
    # step is the Ending
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace

from proxy.recovery.actions import Cure, Verdict, cure_of
from proxy.recovery.attempt import Attempt, Ending, Outcome, Rung, Situation
from proxy.recovery.climb import Climb, lower
from proxy.recovery.fault import Fault
from proxy.recovery.settings import RecoverySettings
from proxy.recovery.targets import (
    OUTPUT_SHARE,
    byte_target,
    clamped_output,
    long_tier_target,
    rate_output,
    rate_target,
    shared_output,
    tier_target,
    token_target,
)

Ladder = Generator[Attempt, Outcome, Ending]


def recovery_ladder(situation: Situation, *, settings: RecoverySettings, clock: Callable[[], float]) -> Ladder:
    """
    Yield the next attempt, be sent its outcome; return how it ended.

    There are at most ``max_attempts`` upstream tries and no new one after the deadline. A skipped attempt is no try: the
    next one is harder, so that the ladder ends.
    """
    last_call = clock() + settings.deadline
    climb = Climb(situation, settings, Attempt(number=situation.tries))
    while True:
        outcome = yield climb.attempt
        if outcome.fault is None and not outcome.skipped:
            return Ending(Verdict.ACCEPTED, climb.attempt)
        climb = climb.after(outcome)
        following = _next_attempt(climb) if clock() < last_call else None
        if following is None:
            return climb.ending()
        climb = replace(climb, attempt=following)


def resume(ladder: Ladder, outcome: Outcome) -> Attempt | Ending:
    """
    Send *outcome* and return the next attempt, or the ending.
    """
    try:
        return ladder.send(outcome)
    except StopIteration as end:
        ending: Ending = end.value
        return ending


def _next_attempt(climb: Climb) -> Attempt | None:
    """
    Return what to try against the last refusal, or nothing.
    """
    fault = climb.refused.fault
    if fault is None:
        return None
    if climb.was_skipped and climb.attempt.rung is not Rung.CLAMP:
        return climb.harder()
    if climb.attempt.number >= climb.settings.max_attempts:
        return None
    return _CURES[cure_of(fault, fullness=_fullness(climb, fault))](climb)


def _fullness(climb: Climb, fault: Fault) -> float:
    """
    Return the refused prompt as a share of the window.

    Where no window is known, a stream that says nothing is held against the smallest tier: it is a failed call anyway,
    and the servers that answer an overflow so are small ones.
    """
    guessing = fault.empty_stream and not climb.situation.window_known
    window = min(climb.settings.tiers, default=1) if guessing else climb.situation.window_tokens
    return climb.refused.sent_tokens / max(1, window)


def _shrink_tokens(climb: Climb) -> Attempt | None:
    fault = climb.refused.fault
    assert fault is not None
    if not fault.confident and climb.used & {Rung.COMPACT, Rung.SQUEEZE, Rung.HARD_FIT}:
        return None  # a refusal without a reason is worth one try
    clamped = clamped_output(fault, climb.situation) if fault.max_tokens_issue else None
    if climb.settings.clamp_max_tokens and clamped is not None and Rung.CLAMP not in climb.used:
        return climb.again(Rung.CLAMP, max_tokens=lower(climb.attempt.max_tokens, clamped))
    window = token_target(climb.refused, climb.situation, believed=climb.believed, tiers=climb.settings.tiers)
    output = shared_output(fault, climb.situation) if climb.settings.clamp_max_tokens else None
    return climb.smaller(window=window, output=output)


def _shrink_bytes(climb: Climb) -> Attempt | None:
    budget, is_known = byte_target(climb.refused, climb.situation)
    if is_known:
        return climb.smaller(budget=budget)
    window = tier_target(climb.refused, climb.situation, believed=climb.believed, tiers=climb.settings.tiers)
    return climb.smaller(window=window, budget=budget)


def _leave_long_tier(climb: Climb) -> Attempt | None:
    fault = climb.refused.fault
    window = long_tier_target(climb.refused)
    if fault is None or fault.status not in (429, None) or window is None or Rung.COMPACT in climb.used:
        return None
    return climb.smaller(window=window)


def _shrink_for_rate(climb: Climb) -> Attempt | None:
    fault, asked = climb.refused.fault, climb.attempt.max_tokens or climb.situation.asked_output or 0
    if fault is None or not climb.settings.shrink_for_rate_limits:
        return None
    lowered = _lowered_for_rate(climb, fault, asked)
    if lowered is not None:
        return climb.again(Rung.CLAMP, max_tokens=lowered)
    if fault.output_rate or not fault.shrink_helps:
        return None
    window = rate_target(climb.refused, asked_output=asked)
    if window is not None:
        return climb.smaller(window=window)
    share = (fault.rate_limit or 0) // OUTPUT_SHARE
    window = rate_target(climb.refused, asked_output=share)
    may = climb.settings.clamp_max_tokens and climb.situation.thinking_budget < share < asked
    return climb.smaller(window=window, output=share) if may and window is not None else None


def _lowered_for_rate(climb: Climb, fault: Fault, asked: int) -> int | None:
    if not climb.settings.clamp_max_tokens or Rung.CLAMP in climb.used:
        return None
    lowered = rate_output(fault, asked_output=asked)
    return lowered if lowered is not None and lowered > climb.situation.thinking_budget else None


def _clamp_output(climb: Climb) -> Attempt | None:
    fault, asked = climb.refused.fault, climb.attempt.max_tokens or climb.situation.asked_output
    if fault is None or fault.output_cap is None or asked is None or not climb.settings.clamp_max_tokens:
        return None
    fits = climb.situation.thinking_budget < fault.output_cap < asked
    return climb.again(Rung.CLAMP, max_tokens=fault.output_cap) if fits and Rung.CLAMP not in climb.used else None


def _repair(climb: Climb) -> Attempt | None:
    fault = climb.refused.fault
    ours = fault is not None and fault.structure and climb.refused.rewritten
    return climb.again(Rung.REPAIR, strict_roles=True) if ours and Rung.REPAIR not in climb.used else None


def _pass(climb: Climb) -> Attempt | None:  # noqa: ARG001 - one shape for all cures
    return None


_CURES: dict[Cure, Callable[[Climb], Attempt | None]] = {
    Cure.SHRINK_TOKENS: _shrink_tokens,
    Cure.SHRINK_BYTES: _shrink_bytes,
    Cure.LEAVE_LONG_TIER: _leave_long_tier,
    Cure.SHRINK_FOR_RATE: _shrink_for_rate,
    Cure.CLAMP_OUTPUT: _clamp_output,
    Cure.REPAIR: _repair,
    Cure.PASS: _pass,
}
