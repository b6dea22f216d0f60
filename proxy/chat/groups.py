"""
Tool groups: the runs of rows that no cut may split.

A group is an assistant row that calls tools with the results that follow it at once; every other row is a group of
its own. Ids are matched within a group only, since clients reuse them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    return tuple(Group(start, end, is_call_row(messages[start])) for start, end in _runs(messages))


def group_starts(messages: Sequence[Message]) -> tuple[int, ...]:
    """
    Return the indexes at which a cut is legal.
    """
    return tuple(start for start, _ in _runs(messages))


def is_group_start(messages: Sequence[Message], index: int) -> bool:
    """
    Tell whether a cut is legal in front of row *index*, without looking at the others.
    """
    return index == 0 or not (is_tool_result(messages[index]) and _gathers(messages[index - 1]))


def _runs(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """
    Yield start and end of each group.
    """
    index, count = 0, len(messages)
    while index < count:
        end = index + 1
        # Stray results at the front stay together too: a cut between them would leave an orphan on its own.
        if end < count and is_tool_result(messages[end]) and _gathers(messages[index]):
            while end < count and is_tool_result(messages[end]):
                end += 1
        yield index, end
        index = end


def _gathers(row: Message) -> bool:
    return is_call_row(row) or is_tool_result(row)


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
