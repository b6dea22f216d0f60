"""
Tool groups: the runs of rows that no cut may split.

A group is an assistant row that calls tools with the results that follow it at once; every other row is a group of
its own. Ids are matched within a group only, since clients reuse them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proxy.chat.messages import Message, is_call_row, is_tool_result, result_id, tool_calls


@dataclass(frozen=True, slots=True)
class Group:
    """
    Rows ``start`` to ``end`` (exclusive) that belong together.
    """

    start: int
    end: int
    is_tool_round: bool

    def __len__(self) -> int:
        return self.end - self.start


def groups(messages: Sequence[Message]) -> tuple[Group, ...]:
    """
    Split *messages* into groups, in order and without gaps.
    """
    found: list[Group] = []
    index = 0
    while index < len(messages):
        end = index + 1
        calls = is_call_row(messages[index])
        if calls or is_tool_result(messages[index]):
            # Stray results at the front stay together too: a cut between them would leave an orphan on its own.
            while end < len(messages) and is_tool_result(messages[end]):
                end += 1
        found.append(Group(index, end, calls))
        index = end
    return tuple(found)


def group_starts(messages: Sequence[Message]) -> tuple[int, ...]:
    """
    Return the indexes at which a cut is legal.
    """
    return tuple(group.start for group in groups(messages))


def open_calls(messages: Sequence[Message], group: Group) -> tuple[str, ...]:
    """
    Return the call ids of a tool round that no result in the group answers.
    """
    answered = {result_id(messages[index]) for index in range(group.start + 1, group.end)}
    return tuple(call.call_id for call in tool_calls(messages[group.start]) if call.call_id not in answered)


def pending_round(messages: Sequence[Message]) -> Group | None:
    """
    Return the tool round at the very end whose results the model has not answered yet, if there is one.
    """
    all_groups = groups(messages)
    if all_groups and all_groups[-1].is_tool_round:
        return all_groups[-1]
    return None
