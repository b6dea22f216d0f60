"""
The canonical event of an exchange: its facts as fields, never text of a message.
"""

from __future__ import annotations

import re

from proxy.pipeline.exchange import Exchange
from proxy.pipeline.plan import Plan
from proxy.pipeline.tracing import UNTRACED
from proxy.pipeline.watching import Seen

FIRST_ERROR = 400
LONGEST_NAME = 200
"""Characters of a model's name, which the client chooses."""
REQUEST_ID = "x-request-id"
# What others call an id goes into logs: nothing that could be a sentence or a key of some length.
_ID = re.compile(r"[A-Za-z0-9._:-]{1,80}")


def request_id_of(value: str | None) -> str:
    """
    Return the ``x-request-id`` of a request or an answer, empty where its *value* is none that may be logged.
    """
    return value if value is not None and _ID.fullmatch(value) else ""


def canonical(exchange: Exchange, seen: Seen, *, now: float) -> dict[str, object]:
    """
    Return the fields of ``exchange.finished``.
    """
    fields: dict[str, object] = {
        "id": exchange.id,
        "route": exchange.route.name,
        "upstream": exchange.party.upstream,
        "action": exchange.action,
        "status": exchange.status,
        "attempts": exchange.attempts,
        "seconds": round(now - exchange.started, 4),
    }
    _add_ids(fields, exchange)
    if exchange.ended:
        fields["ended"] = exchange.ended
    if seen.spoke_at is not None:
        fields["first_token_seconds"] = round(seen.spoke_at - exchange.started, 4)
    if exchange.request is not None or exchange.glance is not None:
        fields["model"] = exchange.model[:LONGEST_NAME]
    if exchange.plan is not None:
        _add_plan(fields, exchange.plan)
    if seen.usage is not None:
        fields["prompt_tokens"], fields["completion_tokens"] = seen.usage.prompt, seen.usage.completion
        fields["cached_tokens"] = seen.usage.cached
    if exchange.faults or exchange.rungs or exchange.warnings:
        told = {"faults": exchange.faults, "rungs": exchange.rungs, "warnings": exchange.warnings}
        fields |= {name: list(values) for name, values in told.items() if values}
    return fields


def fault_of(exchange: Exchange) -> str:
    """
    Return the kind of what went wrong for the client, empty where nothing did.
    """
    if exchange.ended or exchange.status < FIRST_ERROR:
        return exchange.ended
    return exchange.faults[-1] if exchange.faults else str(exchange.status)


def _add_ids(fields: dict[str, object], exchange: Exchange) -> None:
    if told := request_id_of(exchange.heads.get(REQUEST_ID)):
        fields["client_request_id"] = told
    if exchange.upstream_request_id:
        fields["upstream_request_id"] = exchange.upstream_request_id
    if exchange.trace is not UNTRACED:
        fields["trace_id"] = exchange.trace.trace_id


def _add_plan(fields: dict[str, object], plan: Plan) -> None:
    if plan.why:
        fields["why"] = plan.why
    scene = plan.scene
    if scene is not None:
        fields |= {
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
