"""
Read a tool call: a short label, the file it touches, the todo list it writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proxy.chat.json import dumps, loads
from proxy.chat.messages import ToolCall
from proxy.privacy.injection import strip_invisible
from proxy.privacy.redact import redact
from proxy.summaries.ledger.cues import EDIT_NAME, READ_NAME, TODO_NAME
from proxy.summaries.ledger.flatten import scalar

_PATH_KEYS = ("file_path", "path", "filename", "file", "filepath", "target_file", "notebook_path", "uri")
_MAIN_KEYS = (*_PATH_KEYS, "command", "cmd", "query", "url", "pattern", "name", "id")
_TODO_KEYS = ("todos", "items", "plan", "tasks", "todo", "steps", "list")
_TEXT_KEYS = ("content", "text", "step", "title", "task", "description", "subject", "name", "activeForm")
_STATE_KEYS = ("status", "state", "done", "completed")
_CLOSED = frozenset({"completed", "done", "complete", "true", "cancelled", "canceled", "finished", "closed"})
_VALUE_CHARS = 160
_LABEL_CHARS = 80
_TEXT_CHARS = 400
_LONG = 160
_SPACE = re.compile(r"\s+")
_CLOSED_LINE = re.compile(
    r"\s*(?:[-*\d.)]+\s*)?(?:\[[xX✓✔]\]|✓|✔|✅|☑|~~)|.*(?:\(completed\)|\(done\)|\bcompleted\b:?\s*true)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Call:
    """
    One tool call as a summary shows it.

    *signature* is the same for calls that ask for the same thing; *todo* are the open items of a todo list written
    in its arguments.
    """

    row: int
    name: str
    label: str
    text: str
    path: str
    signature: str
    is_edit: bool
    is_read: bool
    is_todo: bool
    todo: tuple[str, ...] = ()


def read_call(call: ToolCall, *, row: int, mask: bool = True) -> Call:
    """
    Read *call*, which stands in *row*.
    """
    raw = redact(call.arguments) if mask else call.arguments
    arguments = _arguments(strip_invisible(raw))
    path = next((_flat(arguments[key]) for key in _PATH_KEYS if isinstance(arguments.get(key), str)), "")
    is_todo = TODO_NAME.search(call.name) is not None
    return Call(
        row=row,
        name=call.name,
        label=_label(call.name, arguments),
        text=_text(call.name, arguments),
        path=path[:_VALUE_CHARS],
        signature=f"{call.name}\n{dumps(arguments).decode()}",
        is_edit=(EDIT_NAME.search(call.name) is not None and not is_todo) or _edits_by_command(arguments),
        is_read=READ_NAME.search(call.name) is not None,
        is_todo=is_todo,
        todo=tuple(_items(arguments)) if is_todo else (),
    )


def open_todo_lines(text: str) -> list[str]:
    """
    Return the lines of a todo list written as text that are not ticked off.
    """
    return [line.strip() for line in text.splitlines() if line.strip() and not _CLOSED_LINE.match(line)]


def open_items(value: Any) -> list[str]:
    """
    Return the open items of a todo list in JSON.
    """
    found = value if isinstance(value, list) else _todo_list(value) if isinstance(value, dict) else []
    return [line for line in (_item(item) for item in found) if line]


def _arguments(raw: str) -> dict[str, Any]:
    try:
        value = loads(raw.encode("utf-8", "replace")) if raw.strip() else {}
    except ValueError:
        return {"input": raw}
    return value if isinstance(value, dict) else {"input": value}


def _edits_by_command(arguments: Mapping[str, Any]) -> bool:
    command = arguments.get("command")
    return isinstance(command, str) and command in {"create", "str_replace", "insert", "write"} and "path" in arguments


def _label(name: str, arguments: Mapping[str, Any]) -> str:
    main = next((arguments[key] for key in _MAIN_KEYS if key in arguments), None)
    if main is None:
        main = next((value for value in arguments.values() if isinstance(value, str)), "")
    return _clip(f"{name} {_flat(main)}".strip(), _LABEL_CHARS)


def _text(name: str, arguments: Mapping[str, Any]) -> str:
    pieces = ", ".join(f"{key}={_short(value)}" for key, value in arguments.items())
    return _clip(f"{name}({pieces})", _TEXT_CHARS)


def _short(value: Any) -> str:
    text = _flat(value)
    return text if len(text) <= _LONG else f"{text[: _LONG // 2]}… <{len(text)} chars>"


def _flat(value: Any) -> str:
    text = dumps(value).decode("utf-8", "replace") if isinstance(value, dict | list) else scalar(value)
    return _SPACE.sub(" ", text).strip()


def _clip(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


def _items(arguments: Mapping[str, Any]) -> Iterator[str]:
    yield from open_items(dict(arguments))
    for key in _TODO_KEYS:
        if isinstance(arguments.get(key), str):
            yield from open_todo_lines(arguments[key])


def _todo_list(value: Mapping[str, Any]) -> list[Any]:
    for key in _TODO_KEYS:
        if isinstance(value.get(key), list):
            return list(value[key])
    return []


def _item(item: Any) -> str:
    if isinstance(item, str):
        return "" if _CLOSED_LINE.match(item) else item.strip()
    if not isinstance(item, dict):
        return ""
    state = next((scalar(item[key]).lower() for key in _STATE_KEYS if key in item), "")
    text = next((item[key] for key in _TEXT_KEYS if isinstance(item.get(key), str)), "")
    if not text or state in _CLOSED:
        return ""
    return f"[ ] {_flat(text)}" + (f" ({state})" if state not in {"", "pending", "false"} else "")
