"""
The response headers that tell what was done.
"""

from __future__ import annotations

from proxy.pipeline.exchange import Exchange
from proxy.upstream.wire import Headers

PREFIX = "x-concertina-"


def disclosed(exchange: Exchange) -> Headers:
    """
    Return the headers of an exchange; token numbers only where they were counted, never a bound.
    """
    found: list[tuple[str, str]] = [("action", exchange.action)]
    plan = exchange.plan
    if plan is not None and plan.scene is not None and plan.sent_tokens is not None:
        scene = plan.scene
        before, after = scene.scaled(scene.total), scene.scaled(plan.sent_tokens)
        found.append(("tokens", f"before={before};after={after};window={scene.window.tokens}"))
    if exchange.attempts > 1:
        found.append(("attempts", str(exchange.attempts)))
    if plan is not None and plan.record is not None and plan.layout is not None:
        found += [("depth", str(plan.record.depth)), ("record", plan.record.key)]
    if plan is not None and plan.would is not None:
        found.append(("would", plan.would))
    found += [("warning", warning) for warning in exchange.warnings]
    return tuple((PREFIX + name, value) for name, value in found)
