"""
How one kept row is shortened: stubs, cuts inside, media labels, small arguments.

Each change is recomputed from the client's row whenever it is emitted; a record stores only which rows and how far.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxy.chat.json import clean_text
from proxy.chat.messages import Message, is_call_row, is_text_part, parts, parts_of
from proxy.compaction.arguments import small_arguments
from proxy.compaction.bodies import is_thinking_part, plain_text
from proxy.compaction.media import is_media_part, without_media
from proxy.compaction.stubs import duplicate_text, stub_text
from proxy.records.record import Edit

CUT_FIELDS = ("content", "reasoning_content", "reasoning")
"""Fields whose text may be cut inside; signed or encrypted blobs are never touched."""
THINKING_FIELDS = ("reasoning_details", "thinking_blocks")
"""Fields of signed reasoning: whole or not at all."""
NO_THINKING = "[earlier reasoning is left out]"


def apply_edit(rows: Sequence[Message], row: Message, edit: Edit) -> Message:
    """
    Return *row* (row ``edit.row`` of *rows*, perhaps edited before) with one edit applied.
    """
    match edit.kind:
        case "stub":
            return _stubbed(rows[edit.row], row, stub_text(rows, edit.row))
        case "duplicate":
            return _stubbed(rows[edit.row], row, duplicate_text(rows, edit.row))
        case "media":
            return without_media(row, keep=edit.tail)
        case "arguments":
            return small_arguments(row, shown=edit.head)
        case "thinking":
            return _without_thinking(row)
        case "cut":
            return _cut(row, head=edit.head, tail=edit.tail)


def cut_text(text: str, *, head: int, tail: int) -> str:
    """
    Keep *head* characters from the front and *tail* from the back, with a notice of what went between.
    """
    left_out = len(text) - head - tail
    if left_out <= 0:
        return text
    notice = f"\n[… {left_out:,} characters left out …]\n"
    if left_out <= len(notice):
        return text
    return clean_text(text[:head] + notice + (text[-tail:] if tail else ""))


def cut_lengths(cap: int) -> tuple[int, int]:
    """
    Split a cap in characters into what is kept at the front and at the back.
    """
    tail = cap * 3 // 10
    return cap - tail, tail


def has_thinking(row: Message) -> bool:
    """
    Tell whether a row carries reasoning that can only go as a whole.
    """
    return any(row.get(field) for field in THINKING_FIELDS) or any(map(is_thinking_part, parts(row)))


def _stubbed(own: Message, row: Message, text: str) -> Message:
    """
    Return *row* with one line for content; a cache mark of its parts stays.
    """
    mark = next((part["cache_control"] for part in reversed(parts(own)) if part.get("cache_control")), None)
    if mark is None:
        return {**row, "content": text}
    return {**row, "content": [{"type": "text", "text": text, "cache_control": mark}]}


def _cut(row: Message, *, head: int, tail: int) -> Message:
    changed = dict(row)
    for field in CUT_FIELDS:
        value = row.get(field)
        if isinstance(value, str):
            changed[field] = cut_text(value, head=head, tail=tail)
        elif field == "content" and isinstance(value, (list, dict)):
            changed[field] = [_cut_part(part, head=head, tail=tail) for part in parts_of(value)]
    return changed


def _cut_part(part: Message, *, head: int, tail: int) -> Message:
    if is_text_part(part):
        return {**part, "text": cut_text(part["text"], head=head, tail=tail)}
    if is_media_part(part) or is_thinking_part(part):
        return part
    text = plain_text(part)
    shown = cut_text(text, head=head, tail=tail)
    return part if shown == text else {"type": "text", "text": shown}


def _without_thinking(row: Message) -> Message:
    changed = {key: value for key, value in row.items() if key not in THINKING_FIELDS}
    if isinstance(row.get("content"), (list, dict)):
        left = [part for part in parts(row) if not is_thinking_part(part)]
        empty = None if is_call_row(row) else NO_THINKING
        changed["content"] = left or empty
    return changed
