"""
Read one message, whatever a client made of it.

Every function takes any JSON value a client may have put where a message belongs and never raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]
"""One row of ``messages``: JSON as the client sent it, never re-modelled."""

SYSTEM_ROLES = frozenset({"system", "developer"})
TOOL_ROLES = frozenset({"tool", "function"})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """
    One call of an assistant row; *call_id* is empty for the legacy ``function_call`` form.
    """

    call_id: str
    name: str
    arguments: str


def role_of(message: Message) -> str:
    """
    Return the role, or an empty string where there is none.
    """
    role = message.get("role")
    return role if isinstance(role, str) else ""


def is_system(message: Message) -> bool:
    """
    Tell whether the row is a system or developer row.
    """
    return role_of(message) in SYSTEM_ROLES


def is_user(message: Message) -> bool:
    """
    Tell whether the row is a user row.
    """
    return role_of(message) == "user"


def is_assistant(message: Message) -> bool:
    """
    Tell whether the row is an assistant row, calls or not.
    """
    return role_of(message) == "assistant"


def is_tool_result(message: Message) -> bool:
    """
    Tell whether the row is a tool result, in the present or the legacy ``function`` form.
    """
    return role_of(message) in TOOL_ROLES


def tool_calls(message: Message) -> tuple[ToolCall, ...]:
    """
    Return the calls of an assistant row, the legacy ``function_call`` included.
    """
    if not is_assistant(message):
        return ()
    calls = message.get("tool_calls")
    found = [_tool_call(call) for call in calls] if isinstance(calls, list) else []
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        found.append(ToolCall("", _string(legacy.get("name")), _string(legacy.get("arguments"))))
    return tuple(call for call in found if call is not None)


def is_call_row(message: Message) -> bool:
    """
    Tell whether the row is an assistant row that calls tools.
    """
    # Asked of every row on every turn, so nothing is built to find out.
    if message.get("role") != "assistant":
        return False
    calls = message.get("tool_calls")
    if isinstance(calls, list) and any(isinstance(call, dict) for call in calls):
        return True
    return isinstance(message.get("function_call"), dict)


def result_id(message: Message) -> str:
    """
    Return the call id that a tool result answers; empty for the legacy form.
    """
    return _string(message.get("tool_call_id"))


def parts(message: Message) -> tuple[Message, ...]:
    """
    Return the content as parts: a string becomes one text part, ``None`` no part, odd values one unknown part.
    """
    return parts_of(message.get("content"))


def cache_marks(message: Message) -> list[Any]:
    """
    Return the ``cache_control`` marks of the row and of its parts, in order.
    """
    content = message.get("content")
    # Asked of every row on every turn: a text can have no mark, so no part is made of it.
    held = () if content is None or isinstance(content, str) else parts_of(content)
    return [mark for holder in (message, *held) if (mark := holder.get("cache_control")) is not None]


def parts_of(content: object) -> tuple[Message, ...]:
    """
    Return any ``content`` value as parts, as *parts* does for a message.
    """
    if content is None:
        return ()
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    if isinstance(content, list):
        return tuple(p if isinstance(p, dict) else {"type": "text", "text": _string(p)} for p in content)
    if isinstance(content, dict):
        return (content,)
    return ({"type": "text", "text": str(content)},)


def text_of(message: Message) -> str:
    """
    Return all text of the content, parts joined by a newline; images, audio and files contribute nothing.
    """
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part_text(part) for part in parts(message) if part_text(part))


def part_text(part: Message) -> str:
    """
    Return the text of one part, empty for media.
    """
    for key in ("text", "refusal"):
        value = part.get(key)
        if isinstance(value, str):
            return value
    return ""


def is_text_part(part: Message) -> bool:
    """
    Tell whether a part is plain text.
    """
    return isinstance(part.get("text"), str)


def is_image_part(part: Message) -> bool:
    """
    Tell whether a part is an image, in the chat-completions form or that of relatives.
    """
    # A tuple: what a client put there need not be hashable.
    return part.get("type") in ("image_url", "image", "input_image") or "image_url" in part


def leading_system_rows(messages: Sequence[Message]) -> int:
    """
    Return the length of the leading run of system and developer rows.
    """
    for index, message in enumerate(messages):
        if not is_system(message):
            return index
    return len(messages)


def _tool_call(call: object) -> ToolCall | None:
    if not isinstance(call, dict):
        return None
    body = call.get("function") if isinstance(call.get("function"), dict) else call.get("custom")
    if not isinstance(body, dict):
        body = {}
    arguments = body.get("arguments", body.get("input"))
    return ToolCall(_string(call.get("id")), _string(body.get("name")), _string(arguments))


def _string(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else str(value)
