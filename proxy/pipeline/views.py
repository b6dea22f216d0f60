"""
A compaction as people look at it: what went in and what was sent, side by side.

The rows come from the shelf, masked and shortened, and are there only while ``store.keep_views`` is on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proxy.chat.messages import Message, role_of, text_of, tool_calls

OPENING = 100
"""Characters by which the row with the summary is known again."""


def side_by_side(view: Mapping[str, Any], *, summary: str | None) -> dict[str, Any]:
    """
    Return both sides row by row: ``role``, ``text``, and as ``change`` what became of it or where it comes from.

    ``folded`` and ``pruned`` on the one side, ``summary`` and ``pruned`` on the other; empty where a row simply stayed.
    """
    before, after = view["before"], view["after"]
    return {
        "before": [_shown(row, _fate(row, after)) for row in before],
        "after": [_shown(row, _origin(row, before, summary)) for row in after],
        "before_left_out": view.get("before_left_out", 0),
        "after_left_out": view.get("after_left_out", 0),
    }


def _fate(row: Message, after: Sequence[Message]) -> str:
    if row in after:
        return ""
    call_id = row.get("tool_call_id")
    return "pruned" if call_id and any(each.get("tool_call_id") == call_id for each in after) else "folded"


def _origin(row: Message, before: Sequence[Message], summary: str | None) -> str:
    if row in before:
        return ""
    opening = (summary or "").strip()[:OPENING]
    return "summary" if opening and opening in text_of(row) else "pruned"


def _shown(row: Message, change: str) -> dict[str, str]:
    calls = "".join(f"\n{call.name}({call.arguments})" for call in tool_calls(row))
    return {"role": role_of(row), "change": change, "text": (text_of(row) + calls).strip()}
