"""
The end of an exchange: what the answer taught, one log line, metrics, and the preparation of the next record.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from proxy.pipeline.exchange import Exchange
from proxy.pipeline.learning import Learning
from proxy.pipeline.plan import Plan
from proxy.pipeline.prepare import Preparation
from proxy.pipeline.watching import Seen
from proxy.telemetry.metrics import Metrics

log = structlog.get_logger()


class Settling:
    """
    Closes the books of an exchange, once.
    """

    def __init__(
        self, learning: Learning, preparation: Preparation, *, metrics: Metrics, clock: Callable[[], float]
    ) -> None:
        self._learning = learning
        self._preparation = preparation
        self._metrics = metrics
        self._clock = clock

    def settle(self, exchange: Exchange, seen: Seen) -> None:
        """
        Take in what the answer said; a fault of ours here never reaches the client, whose answer is on its way.
        """
        plan = exchange.plan
        try:
            if plan is not None:
                self._learning.answered(exchange, plan, seen)
                if seen.complete:
                    self._preparation.after(exchange, plan, real_tokens=seen.usage.prompt if seen.usage else None)
        except Exception:
            log.exception("settle.failed", route=exchange.route.name)
        self._tell(exchange, plan, seen)

    def _tell(self, exchange: Exchange, plan: Plan | None, seen: Seen) -> None:
        self._metrics.requests.labels(exchange.route.name, exchange.action).inc()
        fields: dict[str, object] = {
            "route": exchange.route.name,
            "upstream": exchange.party.upstream,
            "action": exchange.action,
            "status": exchange.status,
            "attempts": exchange.attempts,
            "seconds": round(self._clock() - exchange.started, 4),
        }
        if plan is not None:
            fields |= _plan_fields(plan)
            if plan.kind == "compacted" and plan.scene is not None and plan.sent_tokens is not None:
                self._metrics.tokens_removed.labels(exchange.route.name).inc(
                    max(plan.scene.total - plan.sent_tokens, 0)
                )
                stage = "summary" if plan.summary else "prune"
                outcome = "degraded" if plan.summary and plan.summary.degraded else "ok"
                self._metrics.compactions.labels(exchange.route.name, stage, outcome).inc()
        if seen.usage is not None:
            fields |= {"prompt_tokens": seen.usage.prompt, "completion_tokens": seen.usage.completion}
            fields |= {"cached_tokens": seen.usage.cached}
        for name in ("faults", "rungs", "warnings"):
            if values := getattr(exchange, name):
                fields[name] = list(values)
        log.info("exchange.finished", **fields)


def _plan_fields(plan: Plan) -> dict[str, object]:
    fields: dict[str, object] = {"why": plan.why} if plan.why else {}
    scene = plan.scene
    if scene is not None:
        fields |= {
            "model": scene.request.model,
            "window": scene.window.tokens,
            "window_source": scene.window.source,
            "before_tokens": scene.scaled(scene.total),
            "after_tokens": scene.scaled(plan.sent_tokens or scene.total),
            "threshold": scene.scaled(scene.budget.threshold),
        }
    if plan.record is not None:
        fields |= {"record": plan.record.key, "depth": plan.record.depth}
    if plan.summary is not None:
        fields |= {"summary_calls": plan.summary.calls, "degraded": plan.summary.degraded}
        if plan.summary.failures:
            fields["summary_failures"] = list(plan.summary.failures)
    return fields
