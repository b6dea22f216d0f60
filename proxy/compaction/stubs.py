"""
One line in place of an old tool result: what was there, how large it was, how it ended.

A stub is at most 200 characters, and results of that length are never stubbed, so that stubbing twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from proxy.chat.json import clean_text
from proxy.chat.messages import Message, ToolCall, is_tool_result, result_id, tool_calls
from proxy.compaction.bodies import body_text

STUB_CHARACTERS = 200
"""Source: the reference design prunes results above 200 characters."""

_FAILURE = re.compile(
    r"\b(error|exception|traceback|failed|failure|fatal|denied|not found|no such|refused|timed? ?out|panic|abort)\w*"
    r"|\bexit(?: code|ed with)?[ :=]+[1-9]|错误|失败|异常|エラー",
    re.IGNORECASE,
)
# One of these is in every match of the above: looking for them first is ten times as fast.
_STEMS = (
    *("error", "exception", "traceback", "fail", "fatal", "denied", "not found", "no such", "refused", "timeout"),
    *("timed", "time out", "panic", "abort", "exit", "错误", "失败", "异常", "エラー"),
)
_ZERO_FAILURES = re.compile(r"\b(0|no) (errors?|failures?|failed)\b", re.IGNORECASE)
_FACT = re.compile(
    r"https?://\S{4,60}|(?:/[\w.-]+){2,8}|\b[\w-]+\.\w{1,5}:\d+|\b[A-Z]{2,}-\d+\b|\b[0-9a-f]{7,40}\b|\b\d[\d.,:%-]{2,}\b"
)
_SPACE = re.compile(r"\s+")


def needs_stub(message: Message) -> bool:
    """
    Tell whether a tool result is long enough that a stub is shorter.
    """
    return is_tool_result(message) and len(body_text(message)) > STUB_CHARACTERS


def stub_text(rows: Sequence[Message], index: int) -> str:
    """
    Return the stub of the tool result at *index*.
    """
    text = body_text(rows[index])
    call = _call_of(rows, index)
    failure = first_failure_line(text)
    outcome = "failed" if failure else "done"
    start = f"[old result of {_call_hint(call)}: {outcome}, {len(text):,} characters left out"
    room = STUB_CHARACTERS - len(start) - 3
    detail = _shorten(failure, room) if failure else _facts(text, room)
    return clean_text(f"{start}; {detail}]" if detail and room > 8 else f"{start}]")


def duplicate_text(rows: Sequence[Message], index: int) -> str:
    """
    Return the stub of a tool result at *index* of which a newer, identical one is kept.
    """
    size = len(body_text(rows[index]))
    return clean_text(
        f"[old result of {_call_hint(_call_of(rows, index))}: the same result comes later, {size:,} characters left out]"
    )


def first_failure_line(text: str) -> str:
    """
    Return the first line that tells of a failure, empty where none does.
    """
    lowered = text.lower()
    if not any(stem in lowered for stem in _STEMS):
        return ""
    for match in _FAILURE.finditer(text):
        begin = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.end())
        line = text[begin : end if end >= 0 else len(text)]
        if not _ZERO_FAILURES.search(line):
            return _SPACE.sub(
                " ", text[max(begin, match.start() - 60) : min(begin + len(line), match.end() + 120)]
            ).strip()
    return ""


def _call_of(rows: Sequence[Message], index: int) -> ToolCall | None:
    wanted = result_id(rows[index])
    owner = index - 1
    while owner >= 0 and is_tool_result(rows[owner]):
        owner -= 1
    calls = tool_calls(rows[owner]) if owner >= 0 else ()
    return next((call for call in calls if call.call_id == wanted), calls[0] if calls else None)


def _call_hint(call: ToolCall | None) -> str:
    if call is None:
        return "a tool"
    arguments = _shorten(_SPACE.sub(" ", call.arguments), 50)
    return f"{_shorten(call.name, 30)}({arguments})"


def _facts(text: str, room: int) -> str:
    found: list[str] = []
    for match in _FACT.finditer(text[:20_000]):
        fact = match.group().rstrip(".,:-")
        if fact not in found and len(", ".join([*found, fact])) <= room:
            found.append(fact)
        if len(found) >= 5:
            break
    return ", ".join(found)


def _shorten(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(room - 1, 0)] + "…"
