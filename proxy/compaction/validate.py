"""
Check a plan before it is sent: it may break no rule that the client's own request keeps.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxy.chat.messages import Message, cache_marks, is_user, text_of
from proxy.chat.roles import Violation, has_prefill, violations
from proxy.compaction.handover import END_MARKER, is_real_ask
from proxy.errors import IllegalPlanError

OPEN_AT_END = frozenset({Violation.OPEN_CALL_AT_END})
CACHE_MARKS = 4
"""Providers accept at most four cache breakpoints in a request."""


def validate(planned: Sequence[Message], own: Sequence[Message], *, strict: bool = False) -> None:
    """
    Raise ``IllegalPlanError`` where *planned* introduces a violation that the client's *own* rows lack.
    """
    introduced: list[str] = list(_introduced(violations(planned), own, strict=strict))
    if not planned:
        introduced.append("no rows")
    if any(is_real_ask(row) for row in own) and not _asks_something(planned):
        introduced.append("no user text after the summary")
    if has_prefill(own) and (not planned or planned[-1] is not own[-1]):
        introduced.append("the prefill is not last")
    # Few have more marks than are allowed, and only then it matters how many the client has.
    if (marks := _cache_marks(planned)) > CACHE_MARKS and marks > _cache_marks(own):
        introduced.append("too many cache marks")
    if introduced:
        raise IllegalPlanError(tuple(sorted(introduced)))


def _introduced(found: frozenset[Violation], own: Sequence[Message], *, strict: bool) -> frozenset[Violation]:
    """
    Return what of the violations *found* the client's own rows do not excuse; a long history is not read in vain.
    """
    if not found:
        return found
    # What the client left open at the end stays open: no result of ours could stand for the one that it waits for.
    return found - (violations(own) & OPEN_AT_END if strict else violations(own))


def _asks_something(planned: Sequence[Message]) -> bool:
    return any(is_real_ask(row) or _text_after_marker(row) for row in planned if is_user(row))


def _text_after_marker(row: Message) -> bool:
    text = text_of(row)
    return END_MARKER in text and bool(text.rpartition(END_MARKER)[2].strip())


def _cache_marks(rows: Sequence[Message]) -> int:
    return sum(len(cache_marks(row)) for row in rows)
