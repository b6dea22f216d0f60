"""
Upstreams that cut prompts in silence, or answer nothing since their window is full: noticed, told, remembered.
"""

from __future__ import annotations

import structlog

from proxy.pipeline.exchange import Exchange
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.plan import Plan
from proxy.pipeline.scene import Scene
from proxy.recovery.actions import CORROBORATED_AT
from proxy.recovery.fault import Fault
from proxy.recovery.peek import CUT_IN_STREAM
from proxy.telemetry.metrics import Metrics
from proxy.windows.learned import Claim
from proxy.windows.truncation import MOST_SIGHTINGS, Sighting, Verdict, judge

log = structlog.get_logger()
MOST_PARTIES = 10_000
NEARLY_FULL = 0.90
"""Share of the believed window from which on our own prediction of the prompt says where the window ends."""
CUT = "silent_truncation"
NO_ROOM = "no_room"
_Key = tuple[str, str, str]


class Truncations:
    """
    Watches the counts of answers, by upstream, model and credential.
    """

    def __init__(self, knowledge: Knowledge, *, metrics: Metrics) -> None:
        self._knowledge = knowledge
        self._metrics = metrics
        self._sightings: dict[_Key, tuple[Sighting, ...]] = {}
        self._untold: dict[_Key, str] = {}

    def look(self, exchange: Exchange, scene: Scene, sighting: Sighting) -> bool:
        """
        Take in the count of an answer; return whether it is too low to teach anything else.
        """
        key = _key(exchange, scene.request.model)
        history = self._sightings.get(key, ())
        verdict = judge(sighting, history=history, window=scene.window.tokens)
        if len(self._sightings) >= MOST_PARTIES:
            self._sightings.clear()
            self._untold.clear()
        self._sightings[key] = (*history, sighting)[-MOST_SIGHTINGS:]
        if verdict.state == "truncated":
            self._found(exchange, scene, verdict, sighting, CUT)
        elif verdict.state == "no_room":
            self._found(exchange, scene, verdict, sighting, NO_ROOM)
        return verdict.state in {"truncated", "suspected"}

    def nothing_said(self, exchange: Exchange, plan: Plan, fault: Fault, predicted: int) -> None:
        """
        Take in a stream that ended for its length before anything was said; it states no count, so ours must do.
        """
        scene = plan.scene
        if fault != CUT_IN_STREAM or scene is None or plan.sent_tokens is None:
            return
        window = scene.window.tokens
        if scene.scaled(plan.sent_tokens) >= CORROBORATED_AT * window:
            believed = predicted if NEARLY_FULL * window <= predicted else window
            self._found(exchange, scene, Verdict("no_room", min(believed, window)), Sighting(predicted, 0), NO_ROOM)

    def untold(self, exchange: Exchange) -> tuple[str, ...]:
        """
        Return what was noticed too late for the headers of its own answer, once.
        """
        if exchange.request is None or not self._untold:
            return ()
        told = self._untold.pop(_key(exchange, exchange.request.model), None)
        return () if told is None or told in exchange.warnings else (told,)

    def _found(self, exchange: Exchange, scene: Scene, verdict: Verdict, sighting: Sighting, kind: str) -> None:
        if verdict.window is None:
            return
        model = scene.request.model
        log.warning("truncation.detected", upstream=exchange.party.upstream, kind=kind, window=verdict.window)
        self._metrics.overflow.labels(kind).inc()
        warning = _warning(kind, verdict.window, sighting)
        exchange.warnings.append(warning)
        self._untold[_key(exchange, model)] = warning
        if kind == NO_ROOM:
            # No error will come to recover from, so that the next such request is compacted before it is sent.
            self._knowledge.facts(exchange, model).fills = True
            self._knowledge.refuse(exchange, model, scene.total)
            self._knowledge.save(exchange, model)
        claim = Claim(verdict.window, exchange.party.credential, sighting.predicted, scene.window.tokens)
        self._knowledge.learn_limit(exchange, model, claim)


def _warning(kind: str, window: int, sighting: Sighting) -> str:
    if kind == NO_ROOM:
        return f"the prompt left the upstream no room to answer; its window is now taken to be {window} tokens"
    counts = f"{sighting.counted} of about {sighting.predicted} prompt tokens"
    return f"the upstream read only {counts} and did not say so; its window is now taken to be {window} tokens"


def _key(exchange: Exchange, model: str) -> _Key:
    return exchange.party.upstream, model, exchange.party.credential
