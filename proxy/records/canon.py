"""
Spell a row in one way, whatever spelling the client chose.

What clients drop, add or move between turns is left out (``cache_control``, reasoning, nulls, private keys); all else
counts. The result is a flat list of pieces: each tag fixes how many pieces follow it, so that no two different rows
give the same list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from proxy.chat.messages import Message


class Replacing(Protocol):
    """
    A compiled pattern.
    """

    def sub(self, replacement: str, text: str, /) -> str:
        """
        Return *text* with what is found replaced.
        """


TextRule = tuple[str | Replacing, str]
"""A pattern and its replacement, applied to text before it is digested."""

IGNORED_KEYS = frozenset(
    {
        "annotations",
        "audio",
        "cache_control",
        "extra_content",
        "provider_specific_fields",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "reasoning_text",
        "refusal",
        "signature",
        "thinking",
        "thinking_blocks",
        "thought_signature",
        "thoughtSignature",
    }
)
"""Keys that answers carry and that clients drop, keep or move as they like."""

REASONING_PARTS = frozenset({"thinking", "redacted_thinking", "reasoning"})

_KNOWN_KEYS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
_NOT_COUNTED = _KNOWN_KEYS | IGNORED_KEYS
_INNER_IGNORED = frozenset({"cache_control", "thought_signature", "thoughtSignature"})
_TEXT_KEYS = frozenset({"type", "text"}) | _INNER_IGNORED
_IMAGE_KEYS = frozenset({"type", "image_url"}) | _INNER_IGNORED
_URL_KEYS = frozenset({"url"}) | _INNER_IGNORED
_CALL_KEYS = frozenset({"id", "type", "index", "function", "custom"})
_CALL_NOT_COUNTED = _CALL_KEYS | IGNORED_KEYS
_BODY_KEYS = frozenset({"name", "arguments", "input"})
_BODY_NOT_COUNTED = _BODY_KEYS | IGNORED_KEYS


def row_pieces(row: object, rules: Sequence[TextRule] = ()) -> list[str]:
    """
    Return the pieces of one row; any JSON value will do.
    """
    if not isinstance(row, dict):
        return ["odd", *_walk(row)]
    pieces = [*_scalar("role", row.get("role")), *_content(row.get("content"), rules)]
    if row.get("tool_calls"):
        pieces += _calls(row["tool_calls"])
    if "tool_call_id" in row:
        pieces += _scalar("answers", row["tool_call_id"])
    if row.get("name"):
        pieces += _scalar("name", row["name"])
    if not row.keys() <= _KNOWN_KEYS:
        pieces += _others(row, "row key", _NOT_COUNTED)
    return pieces


def _scalar(tag: str, value: object) -> list[str]:
    if isinstance(value, str):
        return [tag, value]
    return [] if value is None else [f"odd {tag}", *_walk(value)]


def _content(content: object, rules: Sequence[TextRule]) -> list[str]:
    if isinstance(content, str):
        return _text(content, rules)
    if content is None:
        return []
    if not isinstance(content, list):
        return ["odd content", *_walk(content)]
    pieces: list[str] = []
    for part in content:
        pieces += _part(part, rules)
    return pieces


def _text(text: str, rules: Sequence[TextRule]) -> list[str]:
    for pattern, replacement in rules:
        compiled = re.compile(pattern) if isinstance(pattern, str) else pattern
        text = compiled.sub(replacement, text)
    return ["text", text] if text else []


def _part(part: object, rules: Sequence[TextRule]) -> list[str]:
    if isinstance(part, str):
        return _text(part, rules)
    if not isinstance(part, dict):
        return ["odd part", *_walk(part)]
    kind = part.get("type") if isinstance(part.get("type"), str) else ""
    if kind == "text" and isinstance(part.get("text"), str):
        others = [] if part.keys() <= _TEXT_KEYS else _others(part, "part key", _TEXT_KEYS)
        text = _text(part["text"], rules)
        return [*(text or ["text", ""]), *others] if others else text
    if kind in REASONING_PARTS:
        return []
    if "image_url" in part:
        return _image(part)
    return ["part", *_walk(part)]


def _image(part: Message) -> list[str]:
    # One image, two spellings: {"image_url": "…"} and {"image_url": {"url": "…"}}.
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str):
        return ["image part", *_walk(part)]
    details = _others(image, "image key", _URL_KEYS) if isinstance(image, dict) else []
    return ["image", url, *details, *_others(part, "part key", _IMAGE_KEYS)]


def _calls(calls: object) -> list[str]:
    if not isinstance(calls, list):
        return ["odd calls", *_walk(calls)]
    pieces: list[str] = []
    for call in calls:
        pieces += _call(call)
    return pieces


def _call(call: object) -> list[str]:
    if not isinstance(call, dict):
        return ["odd call", *_walk(call)]
    kind = "custom" if "custom" in call else "function"
    pieces = [kind, *_scalar("id", call.get("id")), *_call_body(call.get(kind))]
    if not call.keys() <= _CALL_KEYS:
        pieces += _others(call, "call key", _CALL_NOT_COUNTED)
    return pieces


def _call_body(body: object) -> list[str]:
    if not isinstance(body, dict):
        return ["odd body", *_walk(body)]
    # Arguments count to the letter: what the model wrote is what it will be shown again.
    pieces = _scalar("called", body.get("name"))
    for key in ("arguments", "input"):
        value = body.get(key)
        if isinstance(value, str):
            pieces += [key, value]
        elif value is not None:
            pieces += [f"odd {key}", *_walk(value, whole=True)]
    if not body.keys() <= _BODY_KEYS:
        pieces += _others(body, "body key", _BODY_NOT_COUNTED)
    return pieces


def _others(row: Message, tag: str, left_out: frozenset[str]) -> list[str]:
    pieces: list[str] = []
    for key in sorted(row.keys() - left_out):
        if row[key] is not None and not key.startswith("_"):
            pieces += [tag, key, *_walk(row[key])]
    return pieces


def _walk(value: object, *, whole: bool = False) -> Iterator[str]:
    """
    Yield the pieces of any JSON value, keys sorted; *whole* leaves nothing out.
    """
    # A stack of our own: JSON may be nested more deeply than Python likes to recurse.
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield from ("string", item)
        elif isinstance(item, dict):
            keys = sorted(key for key in item if whole or _counts(key, item[key]))
            yield from ("object", str(len(keys)), *keys)
            waiting += [item[key] for key in reversed(keys)]
        elif isinstance(item, list):
            yield from ("list", str(len(item)))
            waiting += reversed(item)
        else:
            yield from ("value", repr(item))


def _counts(key: str, value: object) -> bool:
    return value is not None and key not in _INNER_IGNORED and not key.startswith("_")
