"""
What a model would see after each way of shortening a conversation, at one and the same budget.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from proxy.chat.groups import groups
from proxy.chat.messages import Message, is_tool_result, is_user, text_of, tool_calls
from proxy.summaries.base import SummaryJob
from proxy.summaries.extractive import extract

Count = Callable[[str], int]
View = Callable[[Sequence[Message], int, Count], str]
TAIL_SHARE = 0.15
_OVERHEAD = 4


def row_text(row: Message) -> str:
    return "\n".join([text_of(row), *(f"{call.name} {call.arguments}" for call in tool_calls(row))])


def visible(rows: Sequence[Message]) -> str:
    return "\n".join(row_text(row) for row in rows)


def size(row: Message, count: Count) -> int:
    return count(row_text(row)) + _OVERHEAD


def tail_start(rows: Sequence[Message], room: float, count: Count) -> int:
    start = len(rows)
    for group in reversed(groups(rows)):
        room -= sum(size(row, count) for row in rows[group.start : group.end])
        if room < 0:
            break
        start = group.start
    return start


def first_ask(rows: Sequence[Message]) -> str:
    return next((text_of(row) for row in rows if is_user(row) and text_of(row).strip()), "")


def extractive(rows: Sequence[Message], budget: int, count: Count) -> str:
    start = tail_start(rows, TAIL_SHARE * budget, count)
    tail = rows[start:]
    left = budget - sum(size(row, count) for row in tail)
    job = SummaryJob(rows[:start], rows[:start], None, tail, left, left, first_ask=first_ask(rows))
    return extract(job, count) + "\n" + visible(tail)


def truncation(rows: Sequence[Message], budget: int, count: Count) -> str:
    return visible(rows[tail_start(rows, budget, count) :])


def middle_out(rows: Sequence[Message], budget: int, count: Count) -> str:
    start = tail_start(rows, budget / 2, count)
    room = budget - sum(size(row, count) for row in rows[start:])
    end = 0
    while end < start and size(rows[end], count) <= room:
        room -= size(rows[end], count)
        end += 1
    return visible(rows[:end]) + "\n" + visible(rows[start:])


def placeholder(rows: Sequence[Message], budget: int, count: Count) -> str:
    """
    Clear old tool results, keep the first exchange and the newest rows, drop what still does not fit.
    """
    start = tail_start(rows, TAIL_SHARE * budget, count)
    cleared = [
        {**row, "content": "[old tool output cleared to save space]"}
        if is_tool_result(row) and len(text_of(row)) > 200
        else row
        for row in rows[:start]
    ]
    head = cleared[:2]
    room = budget - sum(size(row, count) for row in [*head, *rows[start:]])
    newest = tail_start(cleared[2:], room, count)
    return visible([*head, *cleared[2:][newest:], *rows[start:]])


METHODS: dict[str, View] = {
    "truncation": truncation,
    "middle-out": middle_out,
    "placeholder": placeholder,
}


def holds(view: str, needle: str) -> bool:
    """
    Tell whether an exact string stands in a view as a word of its own.
    """
    pattern = re.escape(needle)
    left = r"(?<![A-Za-z0-9])" if needle[:1].isalnum() and needle[:1].isascii() else ""
    right = r"(?![A-Za-z0-9])" if needle[-1:].isalnum() and needle[-1:].isascii() else ""
    return re.search(left + pattern + right, view) is not None
