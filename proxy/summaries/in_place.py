"""
Ask for a summary within the conversation itself: as it is sent now, plus one row, so that the upstream reads its cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proxy.chat.messages import Message, is_call_row, is_user, text_of, tool_calls

_TOOL_FIELDS = {"tools": "tool_choice", "functions": "function_call"}


@dataclass(frozen=True, slots=True)
class Place:
    """
    The *messages* as they are sent in the layout in force, the *fields* that go with them, and what both are in our
    tokens. *folded* says that a summary of earlier turns stands among them.
    """

    messages: Sequence[Message]
    fields: Mapping[str, Any]
    tokens: int
    folded: bool = False

    @property
    def text(self) -> str:
        """
        All that is said, for judging what was made of it.
        """
        return "\n".join(
            [*map(text_of, self.messages), *(call.arguments for row in self.messages for call in tool_calls(row))]
        )


def may_be_asked(messages: Sequence[Message], data: Mapping[str, Any], *, strict: bool) -> bool:
    """
    Tell whether one more user row may follow *messages*, and its answer may be free text.
    """
    if not messages or is_call_row(messages[-1]):
        return False
    form = data.get("response_format")
    if isinstance(form, Mapping) and form.get("type", "text") != "text":
        return False
    return not (strict and is_user(messages[-1]))


def fields_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the top-level fields that shape the prefix which an upstream caches: the tools, none of which may be called.
    """
    fields: dict[str, Any] = {}
    for name, choice in _TOOL_FIELDS.items():
        if data.get(name):
            fields |= {name: data[name], choice: "none"}
    if data.get("prompt_cache_key"):
        fields["prompt_cache_key"] = data["prompt_cache_key"]
    return fields
