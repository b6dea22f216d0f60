"""
Make over-long call arguments small: never cut, since some servers refuse what does not parse, but replaced as a whole.
"""

from __future__ import annotations

from typing import Any

from proxy.chat.json import clean_text, dumps, loads
from proxy.chat.messages import Message, tool_calls

SHOWN_CHARACTERS = 200
"""How much of long arguments is shown."""
FEWEST_CHARACTERS = 50
"""How much of them is shown where many calls stand side by side."""
_WORTH = 3
"""Arguments up to this many times what is shown stay."""


def has_long_arguments(row: Message, *, shown: int) -> bool:
    """
    Tell whether a call of the row has arguments that *small_arguments* would replace.
    """
    return any(len(call.arguments) > shown * _WORTH for call in tool_calls(row))


def small_arguments(row: Message, *, shown: int) -> Message:
    """
    Return the row with over-long arguments replaced by valid JSON that says so and shows how they began.
    """
    changed = dict(row)
    calls = row.get("tool_calls")
    if isinstance(calls, list):
        changed["tool_calls"] = [_small_call(call, shown) for call in calls]
    if isinstance(row.get("function_call"), dict):
        changed["function_call"] = _small_body(row["function_call"], "arguments", shown)
    return changed


def _small_call(call: Any, shown: int) -> Any:
    if not isinstance(call, dict):
        return call
    changed = dict(call)
    for holder, key in (("function", "arguments"), ("custom", "input")):
        if isinstance(call.get(holder), dict):
            changed[holder] = _small_body(call[holder], key, shown)
    return changed


def _small_body(body: Message, key: str, shown: int) -> Message:
    value = body.get(key)
    text = value if isinstance(value, str) else dumps(value).decode()
    if len(text) <= shown * _WORTH:
        return body
    note = dumps({"left_out": f"{len(text):,} characters of arguments", "begins_with": clean_text(text[:shown])})
    if len(note) >= len(text.encode("utf-8", "replace")):
        return body
    # Clients that send arguments as an object get an object.
    return {**body, key: note.decode() if isinstance(value, str) else loads(note)}
