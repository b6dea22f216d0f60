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
from dataclasses import dataclass, replace

from proxy.recovery.actions import Cure, Verdict, cure_of, uncured
from proxy.recovery.attempt import SQUEEZE_LEVELS, Attempt, Ending, Outcome, Rung, Situation
from proxy.recovery.fault import Fault
from proxy.recovery.settings import RecoverySettings
from proxy.recovery.targets import (
    OUTPUT_SHARE,
    byte_target,
    clamped_output,
    is_guess,
    last_targets,
    long_tier_target,
    rate_output,
    rate_target,
    shared_output,
    tier_target,
    token_target,
)

Ladder = Generator[Attempt, Outcome, Ending]

_NOTHING_YET = Outcome()
_HARDER = {Rung.COMPACT: Rung.SQUEEZE, Rung.SQUEEZE: Rung.HARD_FIT}


def recovery_ladder(situation: Situation, *, settings: RecoverySettings, clock: Callable[[], float]) -> Ladder:
    """
    Yield the next attempt, be sent its outcome; return how it ended.

    There are at most ``max_attempts`` upstream tries and no new one after the deadline. A skipped attempt is no try: the
    next one is harder, so that the ladder ends.
    """
    last_call = clock() + settings.deadline
    climb = _Climb(situation, settings, Attempt(number=situation.tries))
    while True:
        outcome = yield climb.attempt
        if outcome.fault is None and not outcome.skipped:
            return Ending(Verdict.ACCEPTED, climb.attempt)
        climb = climb.after(outcome)
        following = climb.next_attempt() if clock() < last_call else None
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


@dataclass(frozen=True, slots=True)
class _Climb:
    """
    Where the ladder stands: the *attempt* that was made, what was last *refused*, and which rungs are used up.
    """

    situation: Situation
    settings: RecoverySettings
    attempt: Attempt
    refused: Outcome = _NOTHING_YET
    outgrown: Fault | None = None
    """The last fault that only shrinking cures, for the ending."""
    used: frozenset[Rung] = frozenset()
    was_skipped: bool = False

    def after(self, outcome: Outcome) -> _Climb:
        """
        Take in what became of the attempt.
        """
        used = self.used | {self.attempt.rung}
        if outcome.skipped:
            return replace(self, used=used, was_skipped=True)
        fault = outcome.fault
        outgrown = fault if fault and uncured(fault) is Verdict.GIVE_UP else self.outgrown
        return replace(self, used=used, was_skipped=False, refused=outcome, outgrown=outgrown)

    def ending(self) -> Ending:
        """
        Say how it ended, for want of a next attempt.
        """
        fault = self.refused.fault
        if fault is None:
            return Ending(Verdict.PASS, self.attempt)
        if fault.structure and self.refused.rewritten and self.outgrown is not None:
            # The complaint is about a plan of ours; what the client's own request met is the honest answer.
            fault = self.outgrown
        return Ending(uncured(fault), self.attempt, fault)

    def next_attempt(self) -> Attempt | None:
        """
        Return what to try against the last refusal, or nothing.
        """
        if self.refused.fault is None:
            return None
        if self.was_skipped:
            return self._harder()
        if self.attempt.number >= self.settings.max_attempts:
            return None
        cure = cure_of(self.refused.fault, fullness=self._fullness(self.refused.fault))
        return _CURES[cure](self)

    def _fullness(self, fault: Fault) -> float:
        """
        Return the refused prompt as a share of the window.

        Where no window is known, a stream that says nothing is held against the smallest tier: it is a failed call
        anyway, and the servers that answer an overflow so are small ones.
        """
        guessing = fault.empty_stream and not self.situation.window_known
        window = min(self.settings.tiers, default=1) if guessing else self.situation.window_tokens
        return self.refused.sent_tokens / max(1, window)

    def _harder(self) -> Attempt | None:
        """
        Keep the targets of an attempt that gained too little, and squeeze more; a skip is no try.
        """
        rung = _HARDER.get(self.attempt.rung)
        if rung is None or rung in self.used:
            return None
        harder = replace(self.attempt, rung=rung, squeeze=SQUEEZE_LEVELS[rung])
        if rung is not Rung.HARD_FIT or not is_guess(self.refused, self.situation):
            return harder
        window, budget = last_targets(
            self.refused, self.situation, window=self.attempt.window_tokens, budget=self.attempt.byte_budget
        )
        return replace(harder, window_tokens=window, byte_budget=budget)

    @property
    def believed(self) -> int:
        """
        The window that the last plan was made for.
        """
        return self.attempt.window_tokens or self.situation.window_tokens

    def again(self, rung: Rung, **changes: int | bool | None) -> Attempt:
        """
        Return the last attempt with *changes*, as the next try.
        """
        fresh = replace(
            self.attempt, number=self.attempt.number + 1, rung=rung, ceiling_tokens=None, ceiling_bytes=None
        )
        return replace(fresh, **changes)  # type: ignore[arg-type]  # mypy cannot match field types by name

    def smaller(
        self,
        *,
        window: int | None = None,
        budget: int | None = None,
        output: int | None = None,
    ) -> Attempt | None:
        """
        Return the next harder rung for these targets; targets never grow.

        On the last rung a guessed target gives way to the least that there is.
        """
        rung = self._next_rung()
        if rung is None:
            return None
        if rung is Rung.HARD_FIT and is_guess(self.refused, self.situation):
            window, budget = last_targets(self.refused, self.situation, window=window, budget=budget)
        keep = 1 - self.situation.minimum_gain
        return self.again(
            rung,
            window_tokens=_lower(self.attempt.window_tokens, window),
            byte_budget=_lower(self.attempt.byte_budget, budget),
            max_tokens=_lower(self.attempt.max_tokens, output),
            squeeze=SQUEEZE_LEVELS[rung],
            ceiling_tokens=int(keep * self.refused.sent_tokens) if budget is None else None,
            ceiling_bytes=None if budget is None else int(keep * self.refused.sent_bytes),
        )

    def _next_rung(self) -> Rung | None:
        """
        Return the rung above the hardest one used; the last try is the hard fit.
        """
        if Rung.HARD_FIT in self.used:
            return None
        if not self.used & {Rung.COMPACT, Rung.SQUEEZE}:
            return Rung.COMPACT
        is_last = self.attempt.number + 1 >= self.settings.max_attempts
        return Rung.HARD_FIT if is_last or Rung.SQUEEZE in self.used else Rung.SQUEEZE


def _lower(before: int | None, now: int | None) -> int | None:
    known = [value for value in (before, now) if value is not None]
    return min(known, default=None)


def _shrink_tokens(climb: _Climb) -> Attempt | None:
    fault = climb.refused.fault
    assert fault is not None
    if not fault.confident and climb.used & {Rung.COMPACT, Rung.SQUEEZE, Rung.HARD_FIT}:
        return None  # a refusal without a reason is worth one try
    clamped = clamped_output(fault, climb.situation) if fault.max_tokens_issue else None
    if climb.settings.clamp_max_tokens and clamped is not None and Rung.CLAMP not in climb.used:
        return climb.again(Rung.CLAMP, max_tokens=_lower(climb.attempt.max_tokens, clamped))
    window = token_target(climb.refused, climb.situation, believed=climb.believed, tiers=climb.settings.tiers)
    output = shared_output(fault, climb.situation) if climb.settings.clamp_max_tokens else None
    return climb.smaller(window=window, output=output)


def _shrink_bytes(climb: _Climb) -> Attempt | None:
    budget, is_known = byte_target(climb.refused, climb.situation)
    if is_known:
        return climb.smaller(budget=budget)
    window = tier_target(climb.refused, climb.situation, believed=climb.believed, tiers=climb.settings.tiers)
    return climb.smaller(window=window, budget=budget)


def _leave_long_tier(climb: _Climb) -> Attempt | None:
    fault = climb.refused.fault
    window = long_tier_target(climb.refused)
    if fault is None or fault.status not in (429, None) or window is None or Rung.COMPACT in climb.used:
        return None
    return climb.smaller(window=window)


def _shrink_for_rate(climb: _Climb) -> Attempt | None:
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


def _lowered_for_rate(climb: _Climb, fault: Fault, asked: int) -> int | None:
    if not climb.settings.clamp_max_tokens or Rung.CLAMP in climb.used:
        return None
    lowered = rate_output(fault, asked_output=asked)
    return lowered if lowered is not None and lowered > climb.situation.thinking_budget else None


def _clamp_output(climb: _Climb) -> Attempt | None:
    fault, asked = climb.refused.fault, climb.attempt.max_tokens or climb.situation.asked_output
    if fault is None or fault.output_cap is None or asked is None or not climb.settings.clamp_max_tokens:
        return None
    fits = climb.situation.thinking_budget < fault.output_cap < asked
    return climb.again(Rung.CLAMP, max_tokens=fault.output_cap) if fits and Rung.CLAMP not in climb.used else None


def _repair(climb: _Climb) -> Attempt | None:
    fault = climb.refused.fault
    ours = fault is not None and fault.structure and climb.refused.rewritten
    return climb.again(Rung.REPAIR, strict_roles=True) if ours and Rung.REPAIR not in climb.used else None


def _pass(climb: _Climb) -> Attempt | None:  # noqa: ARG001 - one shape for all cures
    return None


_CURES: dict[Cure, Callable[[_Climb], Attempt | None]] = {
    Cure.SHRINK_TOKENS: _shrink_tokens,
    Cure.SHRINK_BYTES: _shrink_bytes,
    Cure.LEAVE_LONG_TIER: _leave_long_tier,
    Cure.SHRINK_FOR_RATE: _shrink_for_rate,
    Cure.CLAMP_OUTPUT: _clamp_output,
    Cure.REPAIR: _repair,
    Cure.PASS: _pass,
}
