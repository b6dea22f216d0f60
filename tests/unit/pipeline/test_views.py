"""
Both sides of a compaction, row by row.
"""

from __future__ import annotations

from typing import Any

import pytest

from proxy.pipeline.views import side_by_side

SYSTEM = {"role": "system", "content": "Be brief."}
OLD = {"role": "user", "content": "an old ask"}
SUMMARY = "## Goal\nThe user asked of old."
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path":"x"}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "long " * 50}
STUB = {"role": "tool", "tool_call_id": "a", "content": "[read: 250 characters]"}
LAST = {"role": "user", "content": "go on"}


@pytest.fixture
def sides() -> dict[str, Any]:
    view = {
        "before": [SYSTEM, OLD, CALL, RESULT, LAST],
        "after": [SYSTEM, {"role": "user", "content": f"[notes]\n{SUMMARY}\n[end]"}, CALL, STUB, LAST],
        "before_left_out": 3,
    }
    return side_by_side(view, summary=SUMMARY)


def test_each_row_says_what_became_of_it(sides: Any) -> None:
    """
    A result that is still there in another form was pruned, what is gone was folded.
    """
    assert [row["change"] for row in sides["before"]] == ["", "folded", "", "pruned", ""]
    assert [row["change"] for row in sides["after"]] == ["", "summary", "", "pruned", ""]


def test_calls_are_told_by_name_and_arguments(sides: Any) -> None:
    """
    An assistant row may have no text at all.
    """
    assert sides["before"][2] == {"role": "assistant", "change": "", "text": 'read({"path":"x"})'}


def test_rows_that_are_not_kept_are_counted(sides: Any) -> None:
    """
    The newest stay.
    """
    assert (sides["before_left_out"], sides["after_left_out"]) == (3, 0)
