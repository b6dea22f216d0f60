"""
Read what an answer says of itself: usage, finish reason, text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from proxy.chat.messages import Message, text_of, tool_calls

_COUNTS = (int, float)
MOST_TOKENS = 100_000_000
"""No prompt and no answer has more; a count beyond it is none."""


@dataclass(frozen=True, slots=True)
class Usage:
    """
    Tokens as the upstream counted them; *cached* are part of the prompt at most servers, apart from it at some.
    """

    prompt: int
    completion: int = 0
    cached: int = 0


def usage_of(data: object) -> Usage | None:
    """
    Return the usage of an answer or of one stream chunk; counts that nothing can have are none.
    """
    usage = data.get("usage") if isinstance(data, dict) else None
    if not isinstance(usage, dict):
        return None
    prompt = _number(usage.get("prompt_tokens", usage.get("input_tokens")))
    if not prompt:
        return None  # a server that counted nothing, or writes zeros for it
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else usage.get("cache_read_input_tokens")
    completion = _number(usage.get("completion_tokens", usage.get("output_tokens")))
    return Usage(prompt, completion or 0, _number(cached) or 0)


def finish_reason_of(data: object) -> str | None:
    """
    Return the finish reason of the first choice.
    """
    choice = first_choice(data)
    reason = choice.get("finish_reason") if choice else None
    return reason if isinstance(reason, str) else None


def first_choice(data: object) -> Message | None:
    """
    Return the first choice of an answer or chunk, ``None`` where there is none.
    """
    choices = data.get("choices") if isinstance(data, dict) else None
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return None


def answer_message(data: object) -> Message:
    """
    Return the assistant row of a complete answer, empty where there is none.
    """
    choice = first_choice(data)
    message = choice.get("message") if choice else None
    return message if isinstance(message, dict) else {}


def answer_text(data: object) -> str:
    """
    Return the text of a complete answer.
    """
    return text_of(answer_message(data))


def calls_tools(data: object) -> bool:
    """
    Tell whether a complete answer calls tools.
    """
    return bool(tool_calls({"role": "assistant", **answer_message(data)}))


def is_usage_frame(data: object) -> bool:
    """
    Tell whether a stream chunk carries usage and nothing else, as ``include_usage`` adds one.
    """
    return isinstance(data, dict) and data.get("choices") == [] and isinstance(data.get("usage"), dict)


def _number(value: Any) -> int | None:
    # Written so that NaN is none: it is neither below nor above anything.
    counts = type(value) in _COUNTS and 0 <= value <= MOST_TOKENS
    return int(value) if counts else None
