"""
A plan: what is sent upstream, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from proxy.chat.messages import Message
from proxy.compaction.layout import Layout
from proxy.engines.base import Posture
from proxy.pipeline.scene import Scene
from proxy.records.record import Record
from proxy.summaries.base import Summary

PlanKind = Literal["untouched", "reused", "compacted"]


@dataclass(frozen=True, slots=True)
class Demand:
    """
    What recovery asks of the next plan: a *window* in our tokens, a *byte_limit* for the whole body, the least
    *posture*, top-level *changes* such as a lower max_tokens, or *strict* roles.
    """

    window: int | None = None
    byte_limit: int | None = None
    posture: Posture = Posture.NORMAL
    changes: Mapping[str, Any] | None = None
    strict: bool = False

    @property
    def shrinks(self) -> bool:
        """
        Whether the history has to become smaller.
        """
        return self.window is not None or self.byte_limit is not None or self.posture is not Posture.NORMAL


class Plan(NamedTuple):
    """
    The *body* to send and its facts; *scene* is ``None`` where nothing had to be measured.

    *sent_tokens* are our tokens of what is sent, *would* is what observe mode did not do. *asked_usage* says that we
    asked for a usage frame that the client did not, *less_output* that we asked for less output than it did, *prepared*
    that a record was taken up that was made ahead of time.
    """

    body: bytes
    kind: PlanKind = "untouched"
    scene: Scene | None = None
    messages: Sequence[Message] = ()
    sent_tokens: int | None = None
    layout: Layout | None = None
    record: Record | None = None
    summary: Summary | None = None
    would: PlanKind | None = None
    less_output: bool = False
    asked_usage: bool = False
    prepared: bool = False
    why: str = ""


def write_plan(scene: Scene, layout: Layout | None, changes: Mapping[str, Any] | None, *, tokens: int) -> Plan:
    """
    Write the request in *layout*.

    Raises ``IllegalPlanError`` where it may not be sent, ``ValueError`` where the body cannot be spliced.
    """
    messages = scene.emitted(layout)
    extra = scene.extra if layout is not None else {}
    body = scene.request.splice(messages, {**extra, **(changes or {})})
    kind: PlanKind = "untouched" if layout is None else "reused"
    asked = bool(extra)
    return Plan(body, kind, scene=scene, messages=messages, sent_tokens=tokens, layout=layout, asked_usage=asked)
