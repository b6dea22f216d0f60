"""
The judge: what strict providers refuse. Written on its own, without the code that repairs and validates plans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from proxy.chat.json import loads

Row = dict[str, Any]

KINDS = (
    "open_call",
    "orphan_result",
    "duplicate_result",
    "duplicate_call",
    "first_row",
    "empty_content",
    "unknown_key",
    "bad_arguments",
    "cache_marks",
    "alternation",
)
"""
Every kind of violation.
"""

_MAX_CACHE_MARKS = 4
_BEGINNING_CHARS = 40  # bodies are cut in the middle, their beginnings stay
_RESULT_ROLES = ("tool", "function")
_SYSTEM_ROLES = ("system", "developer")


@dataclass(frozen=True, slots=True)
class Violation:
    """
    One broken rule: its *kind*, the *row* where it shows, and the *message* a provider would answer.

    *subject* tells what is at fault in words that survive a move of the row: call ids, or how a text begins.
    """

    kind: str
    row: int
    message: str
    subject: str = ""

    @property
    def status(self) -> int:
        """
        The status a provider answers with.
        """
        return 500 if self.kind == "bad_arguments" else 400


def judge(rows: Sequence[Any], *, open_calls_at_end: bool = False, alternation: bool = False) -> tuple[Violation, ...]:
    """
    Return every rule that *rows* break, in the order of the rows.
    """
    known: list[Row] = [row if isinstance(row, dict) else {} for row in rows]
    found = [
        *_pairs(known, open_calls_at_end=open_calls_at_end),
        *_first_row(known),
        *(violation for index, row in enumerate(known) for violation in _one_row(index, row)),
        *_cache_marks(known),
        *(_alternation(known) if alternation else ()),
    ]
    return tuple(sorted(found, key=lambda violation: violation.row))


def introduced(
    client_rows: Sequence[Any], sent_rows: Sequence[Any], *, open_calls_at_end: bool = True
) -> dict[str, int]:
    """
    Return the kinds of violations, alternation included, in *sent_rows* that the client's own rows do not have.

    They are told apart by what is at fault: a new violation is not excused by one that was folded away.
    """
    own, sent = (
        Counter((v.kind, v.subject) for v in judge(rows, open_calls_at_end=open_calls_at_end, alternation=True))
        for rows in (client_rows, sent_rows)
    )
    added = Counter[str]()
    for (kind, _), times in (sent - own).items():
        added[kind] += times
    return dict(added)


def _pairs(rows: list[Row], *, open_calls_at_end: bool) -> list[Violation]:
    found: list[Violation] = []
    index = 0
    while index < len(rows):
        end = index + 1
        while end < len(rows) and rows[end].get("role") in _RESULT_ROLES:
            end += 1
        asked = _asked(rows[index])
        if rows[index].get("role") in _RESULT_ROLES:  # only the first rows of a request come here
            found += [_orphan(i, rows[i]) for i in range(index, end)]
        elif asked or end > index + 1:
            at_end = open_calls_at_end and end == index + 1 == len(rows)
            found += [] if at_end else _one_round(rows, index, end, asked)
        index = end
    return found


def _one_round(rows: list[Row], index: int, end: int, asked: list[str]) -> list[Violation]:
    """
    Judge one call row with the results after it; a row that calls nothing has only orphans after it.
    """
    found = [
        Violation("duplicate_call", index, f"Duplicate value for 'tool_call_id' of '{call}'.", call)
        for call, times in Counter(asked).items()
        if times > 1
    ]
    answered: list[str] = []
    for position in range(index + 1, end):
        answer = _answers(rows[position])
        if answer not in asked:
            found.append(_orphan(position, rows[position]))
        elif answer in answered:
            found.append(
                Violation("duplicate_result", position, f"Multiple tool messages respond to tool_call_id '{answer}'.")
            )
        answered.append(answer)
    open_ids = [call for call in asked if call not in answered]
    if open_ids:
        text = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(open_ids)}"
        )
        found.append(Violation("open_call", index, text, ", ".join(open_ids)))
    return found


def _orphan(index: int, row: Row) -> Violation:
    text = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
    return Violation("orphan_result", index, f"Invalid parameter: {text} (messages[{index}])", _answers(row))


def _asked(row: Row) -> list[str]:
    """
    Return what a row waits for: call ids, and the name for the legacy form, told apart by a prefix.
    """
    if row.get("role") != "assistant":
        return []
    calls = row.get("tool_calls")
    ids = [f"{call.get('id')}" for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    legacy = row.get("function_call")
    return [*ids, f"function:{legacy.get('name')}"] if isinstance(legacy, dict) else ids


def _answers(row: Row) -> str:
    return f"function:{row.get('name')}" if row.get("role") == "function" else f"{row.get('tool_call_id')}"


def _first_row(rows: list[Row]) -> list[Violation]:
    for index, row in enumerate(rows):
        if row.get("role") in _SYSTEM_ROLES:
            continue
        if row.get("role") == "user":
            return []
        return [Violation("first_row", index, "The first message after the system messages must have role 'user'.")]
    return [Violation("first_row", max(len(rows) - 1, 0), "At least one message with role 'user' is required.")]


def _one_row(index: int, row: Row) -> list[Violation]:
    found: list[Violation] = []
    if row.get("role") == "user" and _is_empty(row.get("content")):
        found.append(Violation("empty_content", index, f"messages.{index}: user messages must have non-empty content"))
    for key in row:
        if key.startswith("_") or key.lower().startswith("concertina"):
            text = f"Additional properties are not allowed ('{key}' was unexpected) - 'messages.{index}'"
            found.append(Violation("unknown_key", index, text))
    if not all(_is_json(arguments) for arguments in _arguments(row)):
        text = "Failed to parse tool call arguments as JSON: syntax error while parsing value"
        found.append(Violation("bad_arguments", index, text))
    return found


def _is_empty(content: object) -> bool:
    if isinstance(content, str):
        return not content.strip()
    if isinstance(content, list):
        return not any(_has_substance(part) for part in content)
    return content is None


def _has_substance(part: object) -> bool:
    if isinstance(part, dict) and part.get("type", "text") == "text":
        return bool(str(part.get("text") or "").strip())
    return bool(part)


def _arguments(row: Row) -> list[object]:
    calls = row.get("tool_calls")
    bodies = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    bodies.append(row.get("function_call"))
    return [body.get("arguments") for body in bodies if isinstance(body, dict)]


def _is_json(arguments: object) -> bool:
    if not isinstance(arguments, str):
        return False
    if not arguments.strip():
        return True  # calls without arguments are sent empty by many clients, and taken
    try:
        loads(arguments.encode("utf-8", "surrogatepass"))
    except ValueError:
        return False
    return True


def _cache_marks(rows: list[Row]) -> list[Violation]:
    marked = [index for index, row in enumerate(rows) for _ in range(_marks(row))]
    if len(marked) <= _MAX_CACHE_MARKS:
        return []
    text = f"A maximum of {_MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {len(marked)}."
    return [Violation("cache_marks", marked[_MAX_CACHE_MARKS], text)]


def _marks(value: object) -> int:
    if isinstance(value, list):
        return sum(_marks(item) for item in value)
    if isinstance(value, dict):
        own = 1 if value.get("cache_control") else 0
        return own + _marks(value.get("content")) + _marks(value.get("tool_calls"))
    return 0


def _alternation(rows: list[Row]) -> list[Violation]:
    """
    Judge what a strict chat template sees: user rows and assistant rows without calls.
    """
    seen = [
        (index, row["role"])
        for index, row in enumerate(rows)
        if row.get("role") == "user" or (row.get("role") == "assistant" and not _asked(row))
    ]
    text = "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
    return [
        Violation("alternation", index, text, role + _beginning(rows[index].get("content")))
        for (_, before), (index, role) in pairwise(seen)
        if before == role
    ]


def _beginning(content: object) -> str:
    if isinstance(content, list):
        content = next((part.get("text") for part in content if isinstance(part, dict)), "")
    return str(content)[:_BEGINNING_CHARS]
