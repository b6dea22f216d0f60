"""
The end of an exchange: what the answer taught, one log line, metrics, and the preparation of the next record.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from proxy.pipeline.accounts import Accounts
from proxy.pipeline.canonical import canonical, fault_of
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.guarded import guarded
from proxy.pipeline.journal import Journal
from proxy.pipeline.plan import Plan
from proxy.pipeline.prepare import Preparation
from proxy.pipeline.second_look import SecondLook
from proxy.pipeline.tracing import UNTRACED
from proxy.pipeline.watching import Seen
from proxy.telemetry.metrics import Metrics

log = structlog.get_logger()


class Settling:
    """
    Closes the books of an exchange, once.
    """

    def __init__(
        self,
        learning: SecondLook,
        preparation: Preparation,
        *,
        metrics: Metrics,
        journal: Journal,
        accounts: Accounts,
        clock: Callable[[], float],
    ) -> None:
        self._learning = learning
        self._preparation = preparation
        self._metrics = metrics
        self._journal = journal
        self._accounts = accounts
        self._clock = clock
        # Bound here: each use of the module's would bind it anew.
        self._log = log.bind()

    def settle(self, exchange: Exchange, seen: Seen) -> None:
        """
        Take in what the answer said; a fault of ours here never reaches the client, whose answer is on its way.
        """
        if exchange.settled:
            return
        exchange.settled = True
        plan = exchange.plan
        try:
            if plan is not None:
                self._learning.answered(exchange, plan, seen)
                if seen.complete:
                    self._preparation.after(exchange, plan, real_tokens=seen.usage.prompt if seen.usage else None)
        except Exception:
            log.exception("settle.failed", route=exchange.route.name)
        guarded("tell", self._tell, exchange, plan, seen, otherwise=None)

    def untold(self, exchange: Exchange) -> tuple[str, ...]:
        """
        Return the warnings that came too late for the answer they were about.
        """
        return self._learning.untold(exchange)

    def _tell(self, exchange: Exchange, plan: Plan | None, seen: Seen) -> None:
        self._metrics.requests.labels(exchange.route.name, exchange.action).inc()
        if plan is not None:
            self._count(exchange, plan)
        now = self._clock()
        event = canonical(exchange, seen, now=now)
        entries = guarded("accounts", self._accounts.exchange, exchange, seen, otherwise=None)
        if entries and "after_cost" in entries:
            event["before_cost"], event["after_cost"] = (
                round(entries["before_cost"], 8),
                round(entries["after_cost"], 8),
            )
        self._log.info("exchange.finished", **event)
        if exchange.trace is not UNTRACED:
            guarded("trace", lambda: exchange.trace.end(event, fault=fault_of(exchange)), otherwise=None)
        event["at"] = now
        guarded("journal", self._journal.add, event, _digest_of(plan), otherwise=None)

    def _count(self, exchange: Exchange, plan: Plan) -> None:
        if plan.kind != "compacted" or plan.scene is None or plan.sent_tokens is None:
            return
        route = exchange.route.name
        self._metrics.tokens_removed.labels(route).inc(max(plan.scene.total - plan.sent_tokens, 0))
        stage = "taken-up" if plan.prepared else "summary" if plan.summary else "prune"
        outcome = "degraded" if plan.summary and plan.summary.degraded else "ok"
        self._metrics.compactions.labels(route, stage, outcome).inc()


def _digest_of(plan: Plan | None) -> str:
    digests = plan.scene.identity.digests if plan is not None and plan.scene is not None else ()
    return digests[-1] if digests else ""
