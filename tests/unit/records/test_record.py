"""
Records on their way to a store and back.
"""

import pytest

from proxy.records.record import Edit, Record
from tests.support.stores import record


def test_comes_back_as_it_went():
    """Every field survives, edits among them."""
    made = record("k", edits=(Edit(3, "stub"), Edit(4, "cut", 10, 20)), restated=2, summary=None)

    assert Record.from_bytes(made.to_bytes()) == made


def test_ignores_fields_of_a_later_version():
    """Two versions may share a store during an upgrade."""
    raw = record("k").to_bytes().replace(b'{"key"', b'{"mood":"fine","key"')

    assert Record.from_bytes(raw) == record("k")


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"{}", b'{"key":"k"}', b'{"edits":[{"row":1,"kind":"x","new":1}]}'])
def test_refuses_anything_else(raw):
    """Whatever is no record is one kind of error."""
    with pytest.raises(ValueError):
        Record.from_bytes(raw)
