"""
Judge the first events of a stream, or a whole 200 body, before anything is relayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from proxy.chat.json import loads
from proxy.chat.sse import DONE, SseEvent
from proxy.recovery.classify import classify
from proxy.recovery.fault import Fault, Label
from proxy.recovery.settings import PatternRule

HANDFUL = 16
"""Fewer tokens than these, and none by wish, are no answer."""
WINDOW_SHARE = 0.99
CUT_IN_STREAM = Fault(
    Label.CONTEXT_OVERFLOW,
    None,
    "the stream ended for its length before anything was said",
    unit="tokens",
    confident=False,
)
"""No usage is at hand yet, so that it takes a prompt near the window to believe it."""
_ERROR_TYPES = ("error", "response.failed")
_ANSWER_KEYS = frozenset({"choices", "output", "content", "candidates", "data"})
_OVERFLOW_FINISH = frozenset({"model_context_window_exceeded", "context_length_exceeded", "context_window_exceeded"})

_CUT_FINISH = _OVERFLOW_FINISH | {"length"}


class Sign(StrEnum):
    """
    What one event of a stream tells.
    """

    CONTENT = "content"
    NOTHING = "nothing"
    """A comment, a role-only chunk, a usage chunk: a retry is still possible after it."""
    FINISHED = "finished"
    """A finish reason: what follows is at most usage."""
    DONE = "done"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class StreamVerdict:
    """
    What an event tells, with the *fault* where it is an error.
    """

    sign: Sign
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """
    What an answer is held against: the believed *window* and the output that was asked for, where known.
    """

    window: int | None = None
    asked_output: int | None = None


def judge_event(event: SseEvent, *, patterns: Sequence[PatternRule] = ()) -> StreamVerdict:
    """
    Say what *event* is, in the order it arrived before any content.
    """
    if event.data is None or not event.data.strip():
        return StreamVerdict(Sign.NOTHING)
    if event.data.strip() == DONE:
        return StreamVerdict(Sign.DONE)
    value = _parsed(event.data)
    if event.name == "error" or is_error(value):
        return StreamVerdict(Sign.ERROR, classify(None, event.data, patterns=patterns))
    if not isinstance(value, dict):
        return StreamVerdict(Sign.CONTENT)  # nothing we understand: relay it
    return _judge_chunk(value, event.data)


def judge_end(*, saw_done: bool = False) -> Fault:
    """
    Return the fault of a stream that ended without any content: some servers answer every exception so.
    """
    how = "with [DONE] alone" if saw_done else "without any event"
    return Fault(
        Label.OTHER, None, f"the upstream's stream ended {how}", known=False, empty_stream=True, confident=False
    )


def judge_answer(
    value: Any, body: bytes, *, limits: AnswerLimits, patterns: Sequence[PatternRule] = ()
) -> Fault | None:
    """
    Return the fault that a complete 200 *body*, parsed as *value*, hides: a top-level error, or an answer cut off at the
    window.
    """
    if isinstance(value, list) and value and is_error(value[0]):
        return classify(None, body, patterns=patterns)
    if not isinstance(value, dict):
        return None
    if is_error(value) and not any(_has_content(choice) for choice in _choices(value)):
        return classify(None, body, patterns=patterns)
    return cut_at_window(value, limits=limits)


def is_error(value: Any) -> bool:
    """
    Say whether a parsed object is an error rather than an answer.
    """
    if not isinstance(value, dict):
        return False
    if value.get("error") or value.get("errors"):
        return True
    if value.get("object") == "error" or value.get("type") in _ERROR_TYPES:
        return True
    has_answer = not _ANSWER_KEYS.isdisjoint(value)
    return not has_answer and any(isinstance(value.get(key), str) for key in ("message", "detail", "msg"))


def cut_at_window(answer: Mapping[str, Any], *, limits: AnswerLimits) -> Fault | None:
    """
    Return an overflow where *answer* stopped after a handful of tokens because the window was full.

    An answer that is as long as was asked for is none, and neither is one of a server that counts nothing.
    """
    reasons = finish_reasons(answer)
    if reasons.isdisjoint(_CUT_FINISH):
        return None
    usage = answer.get("usage")
    used = usage if isinstance(usage, dict) else {}
    prompt, completion = (
        _count(used, "prompt_tokens", "input_tokens"),
        _count(used, "completion_tokens", "output_tokens"),
    )
    fault = Fault(
        Label.CONTEXT_OVERFLOW, None, "the answer was cut off at the context window", prompt=prompt, unit="tokens"
    )
    if reasons & _OVERFLOW_FINISH:
        return fault
    if "length" not in reasons or prompt is None or limits.window is None:
        return None
    answered = completion or 0
    if answered > HANDFUL or (limits.asked_output is not None and answered >= limits.asked_output):
        return None
    used_up = prompt + answered
    return replace(fault, limit=min(limits.window, used_up)) if used_up >= WINDOW_SHARE * limits.window else None


def finish_reasons(answer: Mapping[str, Any]) -> frozenset[str]:
    """
    Return every finish reason of *answer*.
    """
    choices = answer.get("choices")
    found = [one.get("finish_reason") for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
    if "stop_reason" in answer:
        found.append(answer["stop_reason"])
    return frozenset([reason for reason in found if isinstance(reason, str)])


def _judge_chunk(chunk: Mapping[str, Any], data: bytes) -> StreamVerdict:
    """
    Judge one chat-completions chunk; a chunk of another kind is content.
    """
    if "choices" not in chunk:
        return StreamVerdict(Sign.NOTHING if "usage" in chunk else Sign.CONTENT)
    reasons = finish_reasons(chunk)
    if reasons & _OVERFLOW_FINISH:
        return StreamVerdict(Sign.ERROR, cut_at_window(chunk, limits=AnswerLimits()))
    if any(_has_content(choice) for choice in _choices(chunk)):
        return StreamVerdict(Sign.CONTENT)
    if "error" in reasons:
        return StreamVerdict(Sign.ERROR, classify(None, data))
    if "length" in reasons:
        # Nothing was said before it, or nobody would ask: the prompt may have filled the window.
        return StreamVerdict(Sign.FINISHED, CUT_IN_STREAM)
    return StreamVerdict(Sign.FINISHED if reasons else Sign.NOTHING)


def _has_content(choice: Mapping[str, Any]) -> bool:
    """
    Say whether a choice carries anything beside its role; explicit nulls and empty texts are nothing.
    """
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        delta = choice.get("message")
    said = isinstance(delta, dict) and any(value for key, value in delta.items() if key != "role")
    return said or bool(choice.get("text"))


def _choices(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = answer.get("choices")
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


def _count(usage: Mapping[str, Any], *keys: str) -> int | None:
    return next((value for key in keys if isinstance(value := usage.get(key), int)), None)


def _parsed(data: bytes) -> Any:
    try:
        return loads(data)
    except ValueError:
        return None
