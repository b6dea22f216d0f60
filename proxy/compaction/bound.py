"""
Where head and tail end: the bounds of what is folded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proxy.chat.groups import group_starts, pending_round
from proxy.chat.messages import Message, is_assistant, is_call_row, is_tool_result, is_user, text_of
from proxy.chat.roles import is_visible
from proxy.compaction import handover

MINIMUM_TAIL_ROWS = 3
TAIL_USER_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class TailRule:
    """
    How the tail is sized: *budget* and *ceiling* in tokens, the least number of *rows*, the *user_rounds* kept.
    """

    budget: int
    ceiling: int
    rows: int = MINIMUM_TAIL_ROWS
    user_rounds: int = TAIL_USER_ROUNDS


def is_real_ask(message: Message) -> bool:
    """
    Tell whether the row is something a user asked, and not a summary that stands in a user row.
    """
    return is_user(message) and not handover.is_generated_row(message) and bool(text_of(message).strip())


def head_end(rows: Sequence[Message], *, protect_first: int, has_system: bool) -> int:
    """
    Return where the protected first exchange ends, moved forward past tool rows; 0 where none can be kept.

    Only an exchange that closes with an assistant text is kept: after an open ask or a tool round, the summary (a
    user row) would make two user turns in a row for strict templates. The Goal quotes the ask in that case.
    """
    wanted = max(protect_first - (1 if has_system else 0), 0)
    end = min(wanted, len(rows))
    while end < len(rows) and end > 0 and (is_tool_result(rows[end]) or not _closes(rows, end)):
        if not is_tool_result(rows[end]) and not is_call_row(rows[end - 1]):
            break
        end += 1
    return end if end and end < len(rows) and _closes(rows, end) and is_user(rows[0]) else 0


def _closes(rows: Sequence[Message], end: int) -> bool:
    visible = [row for row in rows[:end] if is_visible(row)]
    last_is_text = bool(visible) and is_assistant(visible[-1])
    return last_is_text and rows[end - 1] is visible[-1]


def tail_start(rows: Sequence[Message], costs: Sequence[int], rule: TailRule) -> int:
    """
    Return the row at which the tail begins, always the start of a group.

    The walk from the end stops at the budget; alignment, the latest ask, the latest answer and the last user rounds
    may take it up to the ceiling. The pending tool round is always kept.
    """
    total, start = 0, len(rows)
    while start > 0 and total + costs[start - 1] <= rule.budget:
        start -= 1
        total += costs[start]
    pending = pending_round(rows)
    newest = pending.start if pending else max(len(rows) - 1, 0)
    start = _aligned(rows, costs, min(start, newest), rule.ceiling, newest)
    for wanted in _anchors(rows, rule):
        if wanted < start and sum(costs[wanted:]) <= rule.ceiling:
            start = wanted
    return start


def _aligned(rows: Sequence[Message], costs: Sequence[int], start: int, ceiling: int, newest: int) -> int:
    starts = group_starts(rows)
    before = max((s for s in starts if s <= start), default=0)
    if before == start or sum(costs[before:]) <= ceiling:
        return before
    return min((s for s in starts if s >= start), default=newest)


def _anchors(rows: Sequence[Message], rule: TailRule) -> list[int]:
    """
    Return the rows that the tail should reach back to, the most important first; all are legal cuts.
    """
    starts = set(group_starts(rows))
    asks = [index for index, row in enumerate(rows) if is_real_ask(row)]
    answers = [
        index for index, row in enumerate(rows) if is_assistant(row) and is_visible(row) and text_of(row).strip()
    ]
    least = max((s for s in starts if s <= len(rows) - rule.rows), default=0)
    wanted = [*asks[-1:], least, *answers[-1:], *asks[-rule.user_rounds : -1]]
    return [index for index in wanted if index in starts]
