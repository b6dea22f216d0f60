"""
Mend tool pairs in rows that we rewrite, and, on request, every rule of strict templates.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxy.chat.groups import Group, groups
from proxy.chat.messages import Message, is_system, is_tool_result, is_user, parts_of, result_id, role_of, tool_calls
from proxy.chat.roles import is_visible

ANSWER_IN_SUMMARY = "[the result of this call is not at hand; see the summary above]"
CONTINUE = "[earlier turns are not shown]"


def repair_pairs(messages: Sequence[Message]) -> list[Message]:
    """
    Drop results without their call and second results; answer calls that lost their result.

    Ids are matched within each tool group, since clients reuse them. What the client left open at the end stays open.
    """
    repaired: list[Message] = []
    for group in groups(messages):
        if group.is_tool_round:
            repaired += _round(messages, group)
        elif not is_tool_result(messages[group.start]):
            repaired += messages[group.start : group.end]
    return repaired


def _round(messages: Sequence[Message], group: Group) -> list[Message]:
    call_row = messages[group.start]
    wanted = [call.call_id for call in tool_calls(call_row)]
    results: list[Message] = []
    for row in messages[group.start + 1 : group.end]:
        if result_id(row) in wanted:
            wanted.remove(result_id(row))
            results.append(row)
    if group.end < len(messages):
        results += [_missing_result(call_id, call_row) for call_id in wanted]
    return [call_row, *results]


def _missing_result(call_id: str, call_row: Message) -> Message:
    if not call_id and "function_call" in call_row:
        name = str(call_row["function_call"].get("name", ""))
        return {"role": "function", "name": name, "content": ANSWER_IN_SUMMARY}
    return {"role": "tool", "tool_call_id": call_id, "content": ANSWER_IN_SUMMARY}


def make_strict(messages: Sequence[Message]) -> list[Message]:
    """
    Return rows that strict templates accept: pairs whole, the first row a user row, turns alternating.

    Two turns of one role in a row become one whose parts follow each other.
    """
    rows = repair_pairs(messages)
    first = next((index for index, row in enumerate(rows) if not is_system(row)), len(rows))
    if first == len(rows) or not is_user(rows[first]):
        rows.insert(first, {"role": "user", "content": CONTINUE})
    merged: list[Message] = []
    last_visible: int | None = None
    for row in rows:
        if is_visible(row):
            if last_visible is not None and role_of(merged[last_visible]) == role_of(row):
                if last_visible == len(merged) - 1:
                    merged[last_visible] = _joined(merged[last_visible], row)
                    continue
                merged.append(_filler(row))
            last_visible = len(merged)
        merged.append(row)
    return merged


def _filler(row: Message) -> Message:
    """
    Return the turn of the other role that belongs between two turns which tool rounds keep apart.
    """
    return {"role": "assistant" if is_user(row) else "user", "content": CONTINUE}


def _joined(first: Message, second: Message) -> Message:
    one, two = first.get("content"), second.get("content")
    if isinstance(one, str) and isinstance(two, str):
        return {**first, **second, "content": f"{one}\n\n{two}"}
    return {**first, **second, "content": [*parts_of(one), *parts_of(two)]}
