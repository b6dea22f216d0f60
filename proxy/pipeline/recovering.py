"""
Send a plan; on a refusal, climb the ladder until an answer is there or nothing more can be done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Any, TypeVar

import structlog

from proxy.chat.patterns import OwnPattern, Patience
from proxy.chat.request import ChatRequest
from proxy.engines.base import POSTURES
from proxy.pipeline.examine import Examined, Lens, examine
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.giving_up import gave_up
from proxy.pipeline.guarded import guarded, guarded_async
from proxy.pipeline.lateness import tell_late
from proxy.pipeline.learning import Learning
from proxy.pipeline.output_limits import output_changes
from proxy.pipeline.plan import Demand, Plan
from proxy.pipeline.planner import Planner
from proxy.pipeline.settings import PatternRule as PatternSettings
from proxy.pipeline.usage import refuses_wish
from proxy.recovery.actions import Verdict
from proxy.recovery.attempt import Attempt, Ending, Outcome, Rung
from proxy.recovery.fault import Label
from proxy.recovery.ladder import Ladder, recovery_ladder, resume
from proxy.recovery.peek import AnswerLimits
from proxy.recovery.settings import PatternRule
from proxy.telemetry.metrics import Metrics

log = structlog.get_logger()
T = TypeVar("T")
Send = Callable[[Exchange, Plan], Any]
FOR_REFUSAL = 0.2
"""Seconds that the patterns of a route may take over one refusal; everybody waits for them."""
_PLAIN = Lens()
PLAUSIBLE_SHARE = 0.5
"""A refusal is plausible where our count is at least this share of the window, or there was one already."""


class Recovering:
    """
    Makes one exchange's upstream calls, at most four.
    """

    def __init__(self, planner: Planner, send: Send, learning: Learning, *, metrics: Metrics) -> None:
        self._planner = planner
        self._send = send
        self._learning = learning
        self._metrics = metrics

    async def answer(self, exchange: Exchange, plan: Plan) -> Examined:
        """
        Return the answer for the client: the upstream's own, or a 400 that says the history cannot be made to fit.
        """
        if exchange.mode in {"off", "observe"}:
            exchange.attempts = 1
            answer = await self._send(exchange, plan)
            if exchange.mode == "off" or answer.is_event_stream:
                return Examined(answer)
            # Observing means to learn what prompts really count, and a whole body tells it; its faults are the client's.
            return (await examine(answer, Lens()))._replace(fault=None)
        examined = await self._try(exchange, plan)
        if plan.asked_usage and refuses_wish(examined.fault, examined.body):
            plan, examined = await self._without_wish(exchange, plan, examined)
        if examined.fault is None:
            return examined
        measuring = guarded_async("measure", self._planner.measured(exchange, plan), otherwise=None)
        measured = await _or_close(examined, measuring)
        if measured is None or measured.scene is None:
            return examined
        return await self._climb(exchange, measured, examined)

    async def _without_wish(self, exchange: Exchange, plan: Plan, examined: Examined) -> tuple[Plan, Examined]:
        """
        Send again without the field that this server refuses, and never add it there again.
        """
        self._learning.refuses_usage(exchange, plan)
        again = await guarded_async("plan anew", self._planner.replan(exchange, Demand()), otherwise=None)
        if again is None:
            return plan, examined
        return again, await self._try(exchange, again)

    async def _climb(self, exchange: Exchange, plan: Plan, examined: Examined) -> Examined:
        ladder = guarded("climb", lambda: self._ladder(exchange, plan), otherwise=None)
        if ladder is None:
            return examined
        step = _step(ladder, self._outcome(exchange, plan, examined))
        while isinstance(step, Attempt):
            candidate = await _or_close(examined, self._candidate(exchange, plan, step))
            if candidate is None:
                step = _step(ladder, Outcome(skipped=True))
                continue
            plan = candidate
            examined.answer.close()
            examined = await self._try(exchange, plan)
            exchange.rungs.append(step.rung)
            step = _step(ladder, self._outcome(exchange, plan, examined))
        return examined if step is None else self._ended(exchange, step, examined)

    def _ladder(self, exchange: Exchange, plan: Plan) -> Ladder:
        """
        Return the ladder, ready to be told what became of the first try.
        """
        least = self._planner.least(plan.scene) if plan.scene else 0
        situation = self._learning.situation(exchange, plan, least=least)
        ladder = recovery_ladder(situation, settings=exchange.recovery, clock=monotonic)
        next(ladder)
        return ladder

    async def _candidate(self, exchange: Exchange, plan: Plan, attempt: Attempt) -> Plan | None:
        """
        Return a plan for *attempt*; ``None`` where there is none that gains enough in the failing unit.
        """
        if plan.scene is None:
            return None
        demand = demand_of(attempt, plan.scene.request)
        candidate = await guarded_async("plan anew", self._planner.replan(exchange, demand), otherwise=None)
        if candidate is None or candidate.sent_tokens is None:
            return None
        if candidate.body == plan.body and attempt.rung is not Rung.REPAIR:
            return None  # what was refused for its size is refused again
        if not attempt.worth_sending(tokens=candidate.sent_tokens, size=len(candidate.body)):
            return None
        return candidate

    async def _try(self, exchange: Exchange, plan: Plan) -> Examined:
        exchange.attempts += 1
        exchange.plan = plan
        plain = plan.scene is None and not exchange.recovery.patterns
        lens = _PLAIN if plain else guarded("look", _lens, exchange, plan, otherwise=_PLAIN)
        started = monotonic()
        answer = await self._send(exchange, plan)
        self._metrics.upstream_seconds.observe(monotonic() - started)
        examined = await examine(answer, lens)
        if lens.patience is not None:
            tell_late(lens.patience, "patterns", route=exchange.route.name)
        if examined.fault is not None:
            exchange.faults.append(examined.fault.label)
            exchange.trace.refused(examined.fault.label)
        return examined

    def _outcome(self, exchange: Exchange, plan: Plan, examined: Examined) -> Outcome:
        fault = examined.fault
        if fault is not None:
            self._metrics.overflow.labels(fault.label).inc()
            guarded("learn", lambda: self._learning.refused(exchange, plan, fault), otherwise=None)
        return Outcome(
            fault,
            sent_tokens=plan.sent_tokens or 0,
            sent_bytes=len(plan.body),
            rewritten=plan.kind != "untouched",
        )

    def _ended(self, exchange: Exchange, ending: Ending, examined: Examined) -> Examined:
        if ending.verdict is Verdict.ACCEPTED:
            exchange.action = "recovered"
            self._metrics.recovered.labels(ending.attempt.rung).inc()
            if ending.attempt.rung is Rung.REPAIR:
                guarded("learn", lambda: self._learning.strict_roles(exchange), otherwise=None)
            return examined
        if ending.verdict is Verdict.GIVE_UP and ending.fault is not None:
            examined.answer.close()
            exchange.action = "gave-up"
            return Examined(gave_up(ending.fault, exchange.plan.scene if exchange.plan else None))
        return examined


async def _or_close(examined: Examined, work: Awaitable[T]) -> T:
    """
    Do *work* while an answer is held; a client that leaves meanwhile must not leave its upstream call behind.
    """
    try:
        return await work
    except BaseException:
        examined.answer.close()
        raise


def _step(ladder: Ladder, outcome: Outcome) -> Attempt | Ending | None:
    """
    Return what the ladder says after *outcome*, ``None`` where it does not hold: what came last is the answer then.
    """
    return guarded("climb", resume, ladder, outcome, otherwise=None)


def demand_of(attempt: Attempt, request: ChatRequest) -> Demand:
    """
    Return what an attempt asks of the planner.
    """
    changes = None if attempt.max_tokens is None else output_changes(request, attempt.max_tokens)
    return Demand(
        window=attempt.window_tokens,
        byte_limit=attempt.byte_budget,
        posture=POSTURES[attempt.squeeze],
        changes=changes,
        strict=attempt.strict_roles,
    )


def _lens(exchange: Exchange, plan: Plan) -> Lens:
    scene = plan.scene
    patience = Patience(FOR_REFUSAL)
    patterns = pattern_rules(exchange.recovery.patterns, patience)
    if scene is None:
        return Lens(patterns=patterns, patience=patience)
    unknown = scene.window.source == "default"
    sent = scene.scaled(plan.sent_tokens or scene.total)
    again = Label.CONTEXT_OVERFLOW in exchange.faults
    plausible = unknown or again or sent >= PLAUSIBLE_SHARE * scene.window.tokens
    limits = AnswerLimits(scene.window.tokens, scene.request.asked_output)
    return Lens(plausible, limits, patterns, patience)


def pattern_rules(settings: Sequence[PatternSettings], patience: Patience) -> tuple[PatternRule, ...]:
    """
    Return the rules that the configuration adds, to be searched for as long as *patience* lasts.
    """
    return tuple(
        PatternRule(Label(rule.label), OwnPattern(rule.regex, patience, ignore_case=True), rule.status)
        for rule in settings
    )
