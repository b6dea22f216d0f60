import json

import pytest

from proxy.summaries.ledger.flatten import LINE_CHARS, flatten_json


def lines(value: object) -> list[str]:
    return [line.text for line in flatten_json(json.dumps(value))]


def test_writes_one_object_on_one_line():
    """Plain fields stand together; white space in values is quoted."""
    assert lines({"id": "A-7", "name": "big pump", "on": True, "n": 2.5}) == ['id=A-7 name="big pump" on=true n=2.5']


def test_shows_the_path():
    """The last two keys that lead to an object."""
    assert lines({"a": {"b": {"c": {"x": 1}}}}) == ["b.c: x=1"]


def test_leaves_empty_fields_out():
    """They say nothing."""
    assert lines({"a": "", "b": None, "c": [], "d": 0}) == ["d=0"]


def test_packs_long_lists():
    """Values of a list share lines of bounded length."""
    packed = lines([f"item-{n}" for n in range(100)])

    assert 1 < len(packed) < 10
    assert all(len(line) <= LINE_CHARS + 20 for line in packed)


def test_records_of_a_kind_share_a_shape():
    """So that a list of them counts as uniform."""
    shapes = {line.shape for line in flatten_json(json.dumps([{"id": n, "v": n} for n in range(5)]))}

    assert shapes == {"id,v"}


def test_cuts_text_values_into_lines():
    """Output inside a JSON field is read like output."""
    assert lines({"stdout": "first\nsecond"}) == ["stdout: first", "second"]


@pytest.mark.parametrize("text", ["", "plain", "{broken", "[1, 2", "12", '"text"'])
def test_other_text_is_not_flattened(text):
    """Only objects and lists are."""
    assert flatten_json(text) is None


def test_deep_nesting_is_bounded():
    """A bottomless value is no reason to fail."""
    assert flatten_json("[" * 200 + "{}" + "]" * 200) == []
