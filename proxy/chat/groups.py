"""
Tool groups: the runs of rows that no cut may split.

A group is an assistant row that calls tools with the results that follow it at once; every other row is a group of
its own. Ids are matched within a group only, since clients reuse them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proxy.chat.messages import Message, is_call_row, is_system, is_tool_result, result_id, tool_calls


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


@dataclass(frozen=True, slots=True)
class Matched:
    """
    Which call each result of a tool round answers, by row, and the calls that none answers.
    """

    answers: Mapping[int, str]
    unanswered: tuple[str, ...]


def matched(messages: Sequence[Message], group: Group) -> Matched:
    """
    Match the results of a tool round with its calls.

    A result without an id answers the first call still open, as servers without ids read it. Calls that share an id
    may have one result each; one between them is enough.
    """
    ids = [call.call_id for call in tool_calls(messages[group.start])]
    wanted, answers = list(ids), dict[int, str]()
    for index in range(group.start + 1, group.end):
        given = result_id(messages[index]) or next(iter(wanted), "")
        if given in wanted:
            wanted.remove(given)
            answers[index] = given
    answered = set(answers.values())
    return Matched(answers, tuple(call_id for call_id in dict.fromkeys(wanted) if call_id not in answered))


def open_calls(messages: Sequence[Message], group: Group) -> tuple[str, ...]:
    """
    Return the call ids of a tool round that no result in the group answers.
    """
    return matched(messages, group).unanswered


def pending_round(messages: Sequence[Message]) -> Group | None:
    """
    Return the tool round at the very end whose results the model has not answered yet, if there is one.

    System rows after it change nothing: some clients add reminders there.
    """
    for group in reversed(groups(messages)):
        if not is_system(messages[group.start]):
            return group if group.is_tool_round else None
    return None
