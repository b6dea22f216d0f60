"""
Drive a ladder as a pipeline would.
"""

from __future__ import annotations

from collections.abc import Callable

from proxy.pipeline.settings import RecoverySettings
from proxy.recovery.attempt import Attempt, Ending, Outcome, Situation
from proxy.recovery.fault import Fault, Label
from proxy.recovery.ladder import recovery_ladder, resume

Reply = Callable[[Attempt], Outcome]


def climb(
    reply: Reply,
    *,
    situation: Situation | None = None,
    settings: RecoverySettings | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> tuple[list[Attempt], Ending]:
    """
    Answer every attempt with *reply*; return all attempts and the ending.
    """
    ladder = recovery_ladder(
        situation or Situation(window_tokens=128_000), settings=settings or RecoverySettings(), clock=clock
    )
    attempts: list[Attempt] = []
    step: Attempt | Ending = next(ladder)
    while isinstance(step, Attempt):
        attempts.append(step)
        step = resume(ladder, reply(step))
    return attempts, step


def refuse(fault: Fault, *, tokens: int = 100_000, size: int = 400_000, rewritten: bool = False) -> Reply:
    """
    Refuse whatever comes; each plan weighs just what its targets allow.
    """

    def reply(attempt: Attempt) -> Outcome:
        sent = min(tokens, attempt.window_tokens or tokens)
        weight = min(size * sent // tokens, attempt.byte_budget or size)
        return Outcome(fault, sent, weight, rewritten=rewritten)

    return reply


def once(fault: Fault, *, tokens: int = 100_000, size: int = 400_000, rewritten: bool = False) -> Reply:
    """
    Refuse the first attempt alone.
    """

    def reply(attempt: Attempt) -> Outcome:
        return Outcome(fault if attempt.number == 1 else None, tokens, size, rewritten=rewritten)

    return reply


def overflow(**facts: int | bool) -> Fault:
    """
    Return an overflow with the *facts* that it states.
    """
    return Fault(Label.CONTEXT_OVERFLOW, 400, "too long", unit="tokens", **facts)  # type: ignore[arg-type]
