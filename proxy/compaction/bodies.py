"""
The text of a row's body, whatever shape its content has: what stubs describe and cuts shorten.
"""

from __future__ import annotations

from proxy.chat.json import dumps
from proxy.chat.messages import Message, part_text, parts_of
from proxy.compaction.media import is_media_part

_THINKING_TYPES = ("thinking", "redacted_thinking", "reasoning")


def is_thinking_part(part: Message) -> bool:
    """
    Tell whether a part holds a model's own reasoning, signed perhaps: it stays byte-exact or goes as a whole.
    """
    return part.get("type") in _THINKING_TYPES


def plain_text(part: Message) -> str:
    """
    Return the text of a part; one of a kind we do not know is read as the JSON that a server would show its model.
    """
    if is_media_part(part) or is_thinking_part(part):
        return ""
    known = isinstance(part.get("text"), str) or isinstance(part.get("refusal"), str)
    return part_text(part) if known else dumps(part).decode()


def body_text(row: Message) -> str:
    """
    Return all text of the content, parts joined by a newline.
    """
    content = row.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, map(plain_text, parts_of(content))))
