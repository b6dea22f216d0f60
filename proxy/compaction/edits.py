"""
How one kept row is shortened: stubs, cuts inside, media labels, small arguments.

Each change is recomputed from the client's row whenever it is emitted; a record stores only which rows and how far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from proxy.chat.json import clean_text, dumps
from proxy.chat.messages import Message, is_text_part, part_text, parts_of
from proxy.compaction.stubs import stub_text
from proxy.records.record import Edit

CUT_FIELDS = ("content", "reasoning_content", "reasoning")
"""Fields whose text may be cut inside; signed or encrypted blobs are never touched."""
ARGUMENT_CHARACTERS = 600
"""Call arguments above this length may be replaced as the last rung."""


def apply_edit(rows: Sequence[Message], row: Message, edit: Edit) -> Message:
    """
    Return *row* (row ``edit.row`` of *rows*, perhaps edited before) with one edit applied.
    """
    if edit.kind == "stub":
        return {**row, "content": stub_text(rows, edit.row)}
    if edit.kind == "media":
        return _without_media(row)
    if edit.kind == "arguments":
        return _small_arguments(row)
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
    return {**part, "text": cut_text(part_text(part), head=head, tail=tail)} if is_text_part(part) else part


def is_media_part(part: Message) -> bool:
    """
    Tell whether a part is an image, audio, a file, or anything else that is not text.
    """
    return (
        not is_text_part(part) and "refusal" not in part and part.get("type") not in {"thinking", "redacted_thinking"}
    )


def _without_media(row: Message) -> Message:
    content = row.get("content")
    if not isinstance(content, (list, dict)):
        return row
    return {**row, "content": [_media_label(part) if is_media_part(part) else part for part in parts_of(content)]}


def _media_label(part: Message) -> Message:
    kind = str(part.get("type") or "media").replace("_url", "").replace("input_", "")
    return {"type": "text", "text": f"[an earlier {kind} was here; it is left out]"}


def _small_arguments(row: Message) -> Message:
    changed = dict(row)
    calls = row.get("tool_calls")
    if isinstance(calls, list):
        changed["tool_calls"] = [_small_call(call) for call in calls]
    legacy = row.get("function_call")
    if isinstance(legacy, dict):
        changed["function_call"] = _small_body(legacy, "arguments", _argument_note)
    return changed


def _small_call(call: Any) -> Any:
    if not isinstance(call, dict):
        return call
    changed = dict(call)
    if isinstance(call.get("function"), dict):
        changed["function"] = _small_body(call["function"], "arguments", _argument_note)
    if isinstance(call.get("custom"), dict):
        changed["custom"] = _small_body(call["custom"], "input", lambda text: cut_text(text, head=400, tail=100))
    return changed


def _small_body(body: Message, key: str, shorten: Callable[[str], str]) -> Message:
    value = body.get(key)
    if not isinstance(value, str) or len(value) <= ARGUMENT_CHARACTERS:
        return body
    return {**body, key: shorten(value)}


def _argument_note(arguments: str) -> str:
    """
    Return a JSON object, since some servers refuse arguments that do not parse.
    """
    shown = clean_text(arguments[:200])
    return dumps({"left_out": f"{len(arguments):,} characters of arguments", "begins_with": shown}).decode()
