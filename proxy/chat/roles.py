"""
The rules that strict providers hold a list of rows to.

A *template-visible* row is one that chat templates see as a turn: user rows, and assistant rows that call no tools.
Tool results, call rows and system rows between them are skipped, as strict templates do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import pairwise

from proxy.chat.groups import Group, groups, matched
from proxy.chat.messages import (
    Message,
    is_assistant,
    is_call_row,
    is_system,
    is_tool_result,
    is_user,
    result_id,
    role_of,
    tool_calls,
)


class Violation(StrEnum):
    """
    One way in which a list of rows breaks the rules.
    """

    ORPHAN_RESULT = "a tool result without its call"
    DUPLICATE_RESULT = "two results for one call"
    UNANSWERED_CALL = "a call without its result"
    OPEN_CALL_AT_END = "a call at the end without its result"
    FIRST_ROW_NOT_USER = "the first row after the system rows is no user row"
    NO_USER_ROW = "no user row"
    ALTERNATION = "two turns of one role in a row"


def is_visible(message: Message) -> bool:
    """
    Tell whether chat templates see the row as a turn.
    """
    return is_user(message) or (is_assistant(message) and not is_call_row(message))


def has_prefill(messages: Sequence[Message]) -> bool:
    """
    Tell whether the last row is the beginning of the answer: an assistant row that calls no tools.
    """
    return bool(messages) and is_assistant(messages[-1]) and not is_call_row(messages[-1])


def violations(messages: Sequence[Message]) -> frozenset[Violation]:
    """
    Return every kind of violation in *messages*.
    """
    return frozenset([*_pair_violations(messages), *_order_violations(messages)])


def _pair_violations(messages: Sequence[Message]) -> Iterator[Violation]:
    for group in groups(messages):
        if group.is_tool_round:
            yield from _round_violations(messages, group)
        elif is_tool_result(messages[group.start]):
            yield Violation.ORPHAN_RESULT


def _round_violations(messages: Sequence[Message], group: Group) -> Iterator[Violation]:
    pairs = matched(messages, group)
    ids = {call.call_id for call in tool_calls(messages[group.start])}
    for index in range(group.start + 1, group.end):
        if index not in pairs.answers:
            known = result_id(messages[index]) in ids
            yield Violation.DUPLICATE_RESULT if known else Violation.ORPHAN_RESULT
    if pairs.unanswered:
        at_end = group.end == len(messages)
        yield Violation.OPEN_CALL_AT_END if at_end else Violation.UNANSWERED_CALL


def _order_violations(messages: Sequence[Message]) -> Iterator[Violation]:
    turns = [message for message in messages if not is_system(message)]
    if turns and not is_user(turns[0]):
        yield Violation.FIRST_ROW_NOT_USER
    if not any(is_user(message) for message in turns):
        yield Violation.NO_USER_ROW
    visible = [role_of(message) for message in turns if is_visible(message)]
    if any(a == b for a, b in pairwise(visible)):
        yield Violation.ALTERNATION
