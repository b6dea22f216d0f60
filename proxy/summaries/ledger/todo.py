"""
The newest state of the todo list or plan that the assistant keeps with a tool of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from proxy.chat.json import loads
from proxy.chat.messages import Message, is_assistant, is_tool_result, result_id, text_of, tool_calls
from proxy.summaries.ledger.calls import open_items, open_todo_lines, read_call
from proxy.summaries.ledger.cues import TODO_NAME
from proxy.summaries.ledger.units import clean

_LISTED = re.compile(r"\[[ xX✓~-]\]|^\s*(?:[-*•]|\d+[.)])\s+\S", re.MULTILINE)


def todo_lines(rows: Sequence[Message], *, mask: bool = True) -> list[str]:
    """
    Return the open lines of the newest todo list in *rows*, verbatim where a tool printed it.
    """
    for index in range(len(rows) - 1, -1, -1):
        for call in reversed(tool_calls(rows[index])):
            if TODO_NAME.search(call.name) is None:
                continue
            printed = _printed(_result(rows, index, call.call_id), mask=mask)
            found = printed or list(read_call(call, row=index, mask=mask).todo)
            if found:
                return found
    return []


def writes_todo(rows: Sequence[Message]) -> bool:
    """
    Tell whether *rows* hold a todo list, so that any older one is out of date.
    """
    return bool(todo_lines(rows))


def _result(rows: Sequence[Message], index: int, call_id: str) -> str:
    for row in rows[index + 1 :]:
        if is_tool_result(row) and result_id(row) == call_id:
            return text_of(row)
        if is_assistant(row):
            break
    return ""


def _printed(text: str, *, mask: bool) -> list[str]:
    text = clean(text, mask=mask).strip()
    if text.startswith(("[", "{")):
        try:
            return open_items(loads(text.encode("utf-8", "replace")))
        except ValueError:
            pass
    return open_todo_lines(text) if len(_LISTED.findall(text)) > 1 or "[ ]" in text else []
