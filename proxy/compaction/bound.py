"""
Where head and tail end: the bounds of what is folded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from proxy.chat.groups import group_starts, pending_round
from proxy.chat.messages import Message, is_assistant, is_call_row, is_user, text_of
from proxy.chat.roles import is_visible
from proxy.compaction.handover import is_real_ask

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


def head_end(rows: Sequence[Message], *, protect_first: int, has_system: bool) -> int:
    """
    Return where the protected first exchange ends, moved forward past tool rounds; 0 where none can be kept.

    Only an exchange that closes with an assistant text is kept: after an open ask or a tool round, the summary (a
    user row) would make two user turns in a row for strict templates. The Goal quotes the ask in that case.
    """
    wanted = min(max(protect_first - (1 if has_system else 0), 0), len(rows))
    if not wanted or not is_user(rows[0]):
        return 0
    end = wanted
    while end < len(rows) and not _closes(rows, end) and not is_user(rows[end]):
        end += 1
    if end < len(rows) and _closes(rows, end):
        return end
    return max((end for end in range(1, min(wanted, len(rows) - 1) + 1) if _closes(rows, end)), default=0)


def _closes(rows: Sequence[Message], end: int) -> bool:
    """
    Tell whether the rows before *end* close with an answer.
    """
    return is_assistant(rows[end - 1]) and is_visible(rows[end - 1])


def tail_start(rows: Sequence[Message], costs: Sequence[int], rule: TailRule) -> int:
    """
    Return the row at which the tail begins, always the start of a group.

    The walk from the end stops at the budget; alignment, the latest ask, the latest answer and the last user rounds
    may take it up to the ceiling. The pending tool round is always kept.
    """
    if not rows:
        return 0
    total, start = 0, len(rows)
    while start > 0 and total + costs[start - 1] <= rule.budget:
        start -= 1
        total += costs[start]
    pending = pending_round(rows)
    newest = pending.start if pending else group_starts(rows)[-1]
    start = _aligned(rows, costs, min(start, newest), rule.ceiling, newest)
    for wanted in _anchors(rows, rule):
        if wanted < start and sum(costs[wanted:]) <= rule.ceiling:
            start = wanted
    return _settled(rows, costs, start, rule.ceiling)


def _aligned(rows: Sequence[Message], costs: Sequence[int], start: int, ceiling: int, newest: int) -> int:
    starts = group_starts(rows)
    before = max(s for s in starts if s <= start)
    if before == start or sum(costs[before:]) <= ceiling:
        return before
    return min((s for s in starts if start <= s <= newest), default=newest)


def _settled(rows: Sequence[Message], costs: Sequence[int], start: int, ceiling: int) -> int:
    """
    Move the cut back to where the summary takes the place of a user turn, while the ceiling holds.

    Best is the user row that an answer belongs to: an ask that is folded while its answer stays looks open again.
    """
    if is_user(rows[start]) or (is_call_row(rows[start]) and _after_user(rows, start)):
        return start
    totals = list(accumulate(reversed(costs)))[::-1]
    most = max(ceiling, totals[start])
    reachable = [s for s in group_starts(rows) if s <= start and totals[s] <= most]
    asks = [s for s in reachable if is_user(rows[s])]
    turns = [s for s in reachable if is_visible(rows[s])]
    return (asks or turns or [start])[-1]


def _after_user(rows: Sequence[Message], start: int) -> bool:
    last = next((row for row in reversed(rows[:start]) if is_visible(row)), None)
    return last is not None and is_user(last)


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
