"""
Bound what a summariser reads: shorten bodies first, then reduce by extract, then read in chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from proxy.chat.messages import Message
from proxy.summaries.base import SummaryJob
from proxy.summaries.ledger.extract import extract
from proxy.summaries.ledger.reach import within_reach
from proxy.summaries.transcript import BODY_CHARS, Caps, transcript

Record = tuple[str, ...]
NOTHING_BUT_MEDIA: Record = ("(media without text)",)

_PROMPT_TOKENS = 450
_LEAST_ROOM = 400
_TOOL_SHARE = 0.055
_LEAST_TOOL_CHARS = 400
_CHARS_PER_TOKEN = 4
_JOINT_TOKENS = 2


@dataclass(frozen=True, slots=True)
class Bounds:
    """
    What one prompt may hold, and how many prompts there may be.
    """

    input_tokens: int
    most_calls: int


def records(job: SummaryJob, bounds: Bounds, count: Callable[[str], int]) -> tuple[Record, ...]:
    """
    Return the transcripts to ask about, one a call, each within the bounds.

    Only the turns that the previous summary does not cover are read, where there is one.
    """
    rows = within_reach(job.fresh if job.previous else job.originals)
    room = max(bounds.input_tokens - _PROMPT_TOKENS - count(job.previous or ""), _LEAST_ROOM)
    # On a small window a whole tool result would crowd out everything else; the bodies of people stay.
    tool = max(int(room * _TOOL_SHARE) * _CHARS_PER_TOKEN, _LEAST_TOOL_CHARS)
    record: Record = ()
    for body in BODY_CHARS:
        record = tuple(transcript(rows, caps=Caps(body=body, tool=min(body, tool)), mask=job.redact))
        if _size(record, count) <= room:
            return (record or NOTHING_BUT_MEDIA,)
    chunks = _split(record, _later_room(job, bounds, room), count)
    return chunks if len(chunks) <= bounds.most_calls else (_reduced(job, rows, room, count),)


def _later_room(job: SummaryJob, bounds: Bounds, room: int) -> int:
    """
    Return the room of a chunk: from the second call on the notes so far stand beside it.
    """
    return max(min(room, bounds.input_tokens - _PROMPT_TOKENS - 2 * job.budget_tokens), _LEAST_ROOM)


def _reduced(job: SummaryJob, rows: Sequence[Message], room: int, count: Callable[[str], int]) -> Record:
    return (extract(replace(job, originals=rows, budget_tokens=room * 9 // 10, ceiling_tokens=room), count),)


def _split(record: Record, room: int, count: Callable[[str], int]) -> tuple[Record, ...]:
    chunks: list[list[str]] = [[]]
    used = 0
    for text in record:
        size = count(text) + _JOINT_TOKENS
        if chunks[-1] and used + size > room:
            chunks.append([])
            used = 0
        chunks[-1].append(text)
        used += size
    return tuple(tuple(chunk) for chunk in chunks)


def _size(record: Record, count: Callable[[str], int]) -> int:
    return sum(count(text) + _JOINT_TOKENS for text in record)
