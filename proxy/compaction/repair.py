"""
Mend tool pairs in rows that we rewrite, and, on request, every rule of strict templates.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxy.chat.groups import Group, groups, matched
from proxy.chat.messages import Message, is_tool_result, is_user, leading_system_rows, parts_of, role_of
from proxy.chat.roles import has_prefill, is_visible

ANSWER_IN_SUMMARY = "[the result of this call is not at hand; see the summary above]"
CONTINUE = "[earlier turns are not shown]"


def repair_pairs(messages: Sequence[Message], *, close_end: bool = False) -> list[Message]:
    """
    Drop results without their call and second results; answer calls that lost their result.

    Ids are matched within each tool group, since clients reuse them. What the client left open at the end stays open,
    but for *close_end*.
    """
    repaired: list[Message] = []
    for group in groups(messages):
        if group.is_tool_round:
            repaired += _round(messages, group, close=close_end or group.end < len(messages))
        elif not is_tool_result(messages[group.start]):
            repaired += messages[group.start : group.end]
    return repaired


def _round(messages: Sequence[Message], group: Group, *, close: bool) -> list[Message]:
    call_row = messages[group.start]
    pairs = matched(messages, group)
    missing = [_missing_result(call_id, call_row) for call_id in pairs.unanswered] if close else []
    return [call_row, *(messages[index] for index in pairs.answers), *missing]


def _missing_result(call_id: str, call_row: Message) -> Message:
    legacy = call_row.get("function_call")
    if not call_id and isinstance(legacy, dict):
        return {"role": "function", "name": str(legacy.get("name") or ""), "content": ANSWER_IN_SUMMARY}
    return {"role": "tool", "tool_call_id": call_id, "content": ANSWER_IN_SUMMARY}


def make_strict(messages: Sequence[Message]) -> list[Message]:
    """
    Return rows that strict templates accept: pairs whole, the first row a user row, turns alternating.

    Two turns of one role in a row become one whose parts follow each other; a prefill stays a row of its own.
    """
    rows = repair_pairs(messages, close_end=True)
    first = leading_system_rows(rows)
    if first == len(rows) or not is_user(rows[first]):
        rows.insert(first, {"role": "user", "content": CONTINUE})
    prefill = rows[-1] if has_prefill(rows) else None
    merged: list[Message] = []
    last_visible: int | None = None
    for row in rows:
        if is_visible(row):
            if last_visible is not None and role_of(merged[last_visible]) == role_of(row):
                if last_visible == len(merged) - 1 and row is not prefill:
                    merged[last_visible] = _joined(merged[last_visible], row)
                    continue
                merged.append(filler(row))
            last_visible = len(merged)
        merged.append(row)
    return merged


def filler(row: Message) -> Message:
    """
    Return the turn of the other role that belongs before *row*, between two turns of one role.
    """
    return {"role": "assistant" if is_user(row) else "user", "content": CONTINUE}


def _joined(first: Message, second: Message) -> Message:
    one, two = first.get("content"), second.get("content")
    if isinstance(one, str) and isinstance(two, str):
        return {**first, **second, "content": f"{one}\n\n{two}"}
    return {**first, **second, "content": [*parts_of(one), *parts_of(two)]}
