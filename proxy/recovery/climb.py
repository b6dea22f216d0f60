"""
Where a ladder stands: what was tried and refused, and what the next rung looks like.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from proxy.recovery.actions import Verdict, uncured
from proxy.recovery.attempt import SQUEEZE_LEVELS, Attempt, Ending, Outcome, Rung, Situation
from proxy.recovery.fault import Fault
from proxy.recovery.settings import RecoverySettings
from proxy.recovery.targets import is_guess, last_targets

_NOTHING_YET = Outcome()
_HARDER = {Rung.COMPACT: Rung.SQUEEZE, Rung.SQUEEZE: Rung.HARD_FIT}


@dataclass(frozen=True, slots=True)
class Climb:
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

    def after(self, outcome: Outcome) -> Climb:
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

    def harder(self) -> Attempt | None:
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
            window_tokens=lower(self.attempt.window_tokens, window),
            byte_budget=lower(self.attempt.byte_budget, budget),
            max_tokens=lower(self.attempt.max_tokens, output),
            squeeze=SQUEEZE_LEVELS[rung],
            ceiling_tokens=max(int(keep * self.refused.sent_tokens), self._cured_at(window))
            if budget is None
            else None,
            ceiling_bytes=None if budget is None else int(keep * self.refused.sent_bytes),
        )

    def _cured_at(self, window: int | None) -> int:
        """
        Return the tokens at which a plan is sure to be a cure, however little it gains; none where the window is a guess.
        """
        if window is None or is_guess(self.refused, self.situation):
            return 0
        return min(window - 1, self.refused.sent_tokens - 1)

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


def lower(before: int | None, now: int | None) -> int | None:
    """
    Return the lower of two targets, of which either may be missing.
    """
    known = [value for value in (before, now) if value is not None]
    return min(known, default=None)
