"""
What would be done to one request, as a value: ``concertina explain`` prints it, the admin port answers with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from typing import Any, Literal

from proxy.chat.messages import Message, role_of, tool_calls
from proxy.compaction.layout import Layout, edited, summary_text
from proxy.pipeline.exchange import Action, Exchange
from proxy.pipeline.plan import Plan, PlanKind
from proxy.pipeline.scene import Scene
from proxy.tokens.counter import TokenCounter
from proxy.windows.resolve import Source

Fate = Literal["kept", "pruned", "folded", "restated"]


@dataclass(frozen=True, slots=True)
class Row:
    """
    One of the client's messages, by its place in ``messages``: its *tokens*, and those of what is *sent* of it.

    *how* names the edits of a pruned row (``stub``, ``duplicate``, ``cut``, ``media``, ``arguments``, ``thinking``),
    *names* the tools that it calls. No text of the message is in it.
    """

    index: int
    role: str
    fate: Fate
    tokens: int
    sent: int
    how: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """
    The plan of one request and what it rests on; all figures are the model's tokens, as in ``x-concertina-tokens``.

    What needs the request's messages is ``None`` where the body is no chat completion that we understand. *digest* is
    that of the client's whole history, *record* the key of the compaction that is used or would be made. *body* is
    the request as it would be sent; *summary* its text, handover included.
    """

    action: Action
    why: str
    mode: str
    route: str
    upstream: str
    model: str = ""
    before: int | None = None
    after: int | None = None
    fixed: int | None = None
    threshold: int | None = None
    target: int | None = None
    usable: int | None = None
    window: int | None = None
    window_origin: Source | Literal["option"] | None = None
    would: PlanKind | None = None
    rows: tuple[Row, ...] = ()
    digest: str = ""
    record: str = ""
    depth: int = 0
    summary: str | None = None
    summary_tokens: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    messages_after: int = 0
    body: bytes = field(default=b"", repr=False)

    def to_dict(self) -> dict[str, Any]:
        """
        Return everything but the body, as JSON takes it.
        """
        return {name: value for name, value in asdict(self).items() if name != "body"}


def explained(exchange: Exchange, plan: Plan, counter: TokenCounter) -> Explanation:
    """
    Return *plan* as an explanation; a plan without a scene was not understood.
    """
    told: dict[str, Any] = {
        "action": exchange.action,
        "why": plan.why or _why(exchange, plan),
        "mode": exchange.mode,
        "route": exchange.route.name,
        "upstream": exchange.party.upstream,
        "bytes_before": len(exchange.incoming.body),
        "bytes_after": len(plan.body),
        "body": plan.body,
    }
    if plan.scene is not None:
        told |= _measured(plan, plan.scene, counter)
    return Explanation(**told)


def _why(exchange: Exchange, plan: Plan) -> str:
    if plan.kind != "compacted":
        return ""
    return "forced" if exchange.directives.force else "at or over the threshold"


def _measured(plan: Plan, scene: Scene, counter: TokenCounter) -> dict[str, Any]:
    budget, layout, scaled = scene.budget, plan.layout, scene.scaled
    digests = scene.identity.digests
    sent = scene.total if plan.sent_tokens is None else plan.sent_tokens
    return {
        "model": scene.request.model,
        "before": scaled(scene.total),
        "after": scaled(sent),
        "fixed": scaled(scene.fixed),
        # Rounded up: the threshold is compared in our tokens, where its fraction was already cut off.
        "threshold": ceil(budget.threshold * scene.scale),
        "target": scaled(budget.target),
        "usable": scaled(budget.usable),
        "window": scene.window.tokens,
        "window_origin": scene.window.source,
        "would": plan.would,
        "rows": tuple(_rows(scene, layout, lambda row: scaled(counter.message(row)))),
        "digest": digests[-1] if digests else "",
        "record": plan.record.key if plan.record and layout else "",
        "depth": layout.depth if layout else 0,
        "summary": summary_text(layout, scene.rows) if layout and layout.summary else None,
        "summary_tokens": scaled(counter.text(layout.summary)) if layout and layout.summary else 0,
        "messages_after": len(plan.messages or scene.request.messages),
    }


def _rows(scene: Scene, layout: Layout | None, count: Callable[[Message], int]) -> Iterator[Row]:
    for index, row in enumerate(scene.system):
        yield _row(index, row, "kept", tokens=(count(row),) * 2)
    changed = edited(layout, scene.rows) if layout else {}
    for index, row in enumerate(scene.rows):
        tokens, fate = count(row), _fate(index, layout, changed)
        sent = {"kept": tokens, "pruned": count(changed.get(index, row)), "folded": 0, "restated": tokens}[fate]
        how = [edit.kind for edit in layout.edits if edit.row == index] if layout and fate == "pruned" else []
        yield _row(len(scene.system) + index, row, fate, tokens=(tokens, sent), how=how)


def _fate(index: int, layout: Layout | None, changed: dict[int, Message]) -> Fate:
    if layout is None:
        return "kept"
    if index == layout.restated:
        return "restated"
    if layout.head_end <= index < layout.cut:
        return "folded"
    return "pruned" if index in changed else "kept"


def _row(index: int, row: Message, fate: Fate, *, tokens: tuple[int, int], how: Sequence[str] = ()) -> Row:
    names = tuple(call.name for call in tool_calls(row))
    return Row(index, role_of(row), fate, tokens[0], tokens[1], tuple(how), names)
