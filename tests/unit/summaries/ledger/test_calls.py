import json

import pytest

from proxy.chat.messages import ToolCall
from proxy.summaries.ledger.calls import open_items, open_todo_lines, read_call


def read(name: str, raw: str | None = None, **arguments: object):
    return read_call(ToolCall("a", name, json.dumps(arguments) if raw is None else raw), row=3)


def test_label_names_the_main_argument():
    """A path before all else."""
    assert read("read_file", limit=5, path="src/a.py").label == "read_file src/a.py"


def test_long_values_are_shortened():
    """With their size, so that a reader knows what was there."""
    assert "<900 chars>" in read("write_file", path="a.py", content="x" * 900).text


@pytest.mark.parametrize("name", ["write_file", "str_replace", "apply_patch", "Edit"])
def test_knows_edits_by_name(name):
    """Files that were changed are listed first."""
    assert read(name, path="a.py").is_edit


def test_knows_edits_by_command():
    """One tool for viewing and editing says which in an argument."""
    assert read("str_replace_editor_tool", command="create", path="a.py").is_edit
    assert not read("file_tool", command="view", path="a.py").is_edit


def test_same_request_same_signature():
    """Whatever the call id; other arguments, another signature."""
    assert read("read_file", path="a").signature == read("read_file", path="a").signature
    assert read("read_file", path="a").signature != read("read_file", path="a", offset=5).signature


@pytest.mark.parametrize("raw", ["", "{broken", "[1]", "null", '"x"'])
def test_takes_any_arguments(raw):
    """Arguments that are no object are shown as they are."""
    assert read("x", raw).name == "x"


def test_masks_arguments():
    """Keys passed to tools stay out."""
    assert "s3cr3tval" not in read("deploy", password="s3cr3tval!").text


def test_todo_items_that_are_open():
    """Finished and cancelled ones are left out; a state that is not plain pending is named."""
    call = read(
        "todo_write",
        todos=[
            {"content": "one", "status": "completed"},
            {"content": "two", "status": "in_progress"},
            {"content": "three", "status": "pending"},
            {"content": "four", "status": "cancelled"},
        ],
    )

    assert call.todo == ("[ ] two (in_progress)", "[ ] three")


def test_other_shapes_of_plans():
    """Plans of other clients."""
    assert open_items({"plan": [{"step": "one", "status": "completed"}, {"step": "two", "status": "pending"}]}) == [
        "[ ] two"
    ]
    assert open_items(["- [x] a", "b"]) == ["b"]
    assert open_items(7) == []


def test_ticked_lines_are_done():
    """In lists written as text."""
    assert open_todo_lines("- [x] a\n- [ ] b\n✓ c\n3. d") == ["- [ ] b", "3. d"]
