"""
Digests of rows that were seen lately are remembered, and are never those of another row.
"""

from proxy.records.identity import prefix_digests, row_digest
from proxy.records.row_digests import RowDigests

ROWS = (
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": "hello"},
    {"role": "user", "content": "hellO"},
    {"role": "user", "content": ""},
    {"role": "user", "content": None},
    {"role": "user"},
    {"role": "tool", "content": "hello", "tool_call_id": "a"},
    {"role": "tool", "content": "hello", "tool_call_id": "b"},
    {"role": "tool", "content": "hello", "tool_call_id": None},
    {"role": "tool", "content": "hello"},
    {"role": "user", "content": "hello", "name": "x"},
    {"role": "user", "content": ["hello"]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "user", "content": "\ud83d"},
    {"role": 1, "content": "hello"},
    {"role": "tool", "content": "hello", "tool_call_id": 1},
    "odd",
)


def remembering(most: int = 100) -> tuple[RowDigests, list[object]]:
    made: list[object] = []

    def digest(row: object) -> bytes:
        made.append(row)
        return row_digest(row)

    return RowDigests(digest, most=most), made


def test_what_is_remembered_is_what_would_be_made():
    """
    Rows that differ in role, text, call or shape keep digests of their own, the first time and after it.
    """
    remembered, _ = remembering()
    for _ in range(2):
        assert [remembered.of(row) for row in ROWS] == [row_digest(row) for row in ROWS]


def test_a_plain_row_is_digested_once():
    """
    A long conversation comes again and again; only its new rows cost.
    """
    remembered, made = remembering()
    old = [{"role": "user", "content": f"row {n}"} for n in range(20)]
    prefix_digests(old, seed=b"s", remembered=remembered)
    made.clear()
    new = {"role": "user", "content": "new"}

    again = prefix_digests([*map(dict, old), new], seed=b"s", remembered=remembered)

    assert made == [new]
    assert again == prefix_digests([*old, new], seed=b"s")


def test_rules_that_change_texts_are_heeded():
    """
    A remembered digest is one of the text as it came.
    """
    remembered, _ = remembering()
    rows, rules = [{"role": "user", "content": "at 12:00"}], ((r"\d\d:\d\d", "T"),)
    prefix_digests(rows, seed=b"s", remembered=remembered)

    told = prefix_digests(rows, seed=b"s", canonicalize=rules, remembered=remembered)

    assert told == prefix_digests(rows, seed=b"s", canonicalize=rules)


def test_what_is_remembered_stays_within_bounds():
    """
    Rows that are asked for stay; those that nobody asks for go.
    """
    remembered, made = remembering(most=10)
    kept = {"role": "user", "content": "kept"}
    for number in range(100):
        remembered.of({"role": "user", "content": f"row {number}"})
        remembered.of(dict(kept))

    assert len(remembered) <= 20
    assert made.count(kept) == 1
