"""
The response headers that tell what was done.
"""

from __future__ import annotations

from proxy.pipeline.exchange import Exchange
from proxy.pipeline.plan import Plan
from proxy.upstream.wire import Headers

DEEP = 2
"""Folds from which on a summary stands on a summary."""


def warnings_of(plan: Plan | None) -> tuple[str, ...]:
    """
    Return what a client should know of the summary it was answered with.
    """
    if plan is None or plan.record is None or plan.layout is None or plan.record.depth < DEEP:
        return ()
    return (f"compacted {plan.record.depth} times; details may be lost; consider a new conversation",)


def disclosed(exchange: Exchange) -> Headers:
    """
    Return the headers of an exchange; token numbers only where they were counted, never a bound.
    """
    found = [("x-concertina-action", exchange.action), ("x-concertina-id", exchange.id)]
    plan = exchange.plan
    if plan is not None and plan.scene is not None and plan.sent_tokens is not None:
        scene = plan.scene
        before, after = scene.scaled(scene.total), scene.scaled(plan.sent_tokens)
        found.append(("x-concertina-tokens", f"before={before};after={after};window={scene.window.tokens}"))
    if exchange.attempts > 1:
        found.append(("x-concertina-attempts", str(exchange.attempts)))
    if plan is not None and plan.record is not None and plan.layout is not None:
        found += [("x-concertina-depth", str(plan.record.depth)), ("x-concertina-record", plan.record.key)]
    if plan is not None and plan.would is not None:
        found.append(("x-concertina-would", plan.would))
    found += [("x-concertina-warning", warning) for warning in exchange.warnings]
    return tuple(found)
