"""
Notes on rows, handed on from turn to turn.
"""

from proxy.chat.row_notes import MOST_KEYS, RowNotes

ROWS = [{"content": "a"}, {"content": "bb"}, {"content": "ccc"}]
MORE = [*ROWS[:2], {"content": "dddd"}, {"content": "e"}]


def lengths(_known, rows):
    return [len(row["content"]) for row in rows]


def running(known, rows):
    total = known[-1] if known else 0
    for row in rows:
        total += len(row["content"])
        yield total


def test_a_note_on_a_shared_row_is_made_once() -> None:
    """
    Those that depend on all rows so far go on from the last one shared.
    """
    notes = RowNotes(ROWS)
    assert (notes.on("length", lengths), notes.on("running", running)) == ([1, 2, 3], [1, 3, 6])
    later = notes.handed_on(MORE, shared=2)

    assert (later.missing("length"), later.missing("never")) == (2, 4)
    assert (later.on("length", lengths), later.on("running", running)) == ([1, 2, 4, 1], [1, 3, 7, 8])
    assert notes.on("length", lengths) == [1, 2, 3]


def test_what_depends_on_the_first_rows_is_kept_as_long_as_they_stay() -> None:
    """
    And is made anew where one of them is another.
    """
    made = []

    def make(rows):
        return lambda: made.append(len(made)) or [row["content"] for row in rows[:3]]

    notes = RowNotes(ROWS)
    assert notes.of_first(3, "key", make(ROWS)) == notes.of_first(3, "key", make(ROWS)) == ["a", "bb", "ccc"]
    assert notes.handed_on([*ROWS, {}], shared=3).of_first(3, "key", make(ROWS)) == ["a", "bb", "ccc"]
    assert notes.handed_on(MORE, shared=2).of_first(3, "key", make(MORE)) == ["a", "bb", "dddd"]
    assert len(made) == 2


def test_kinds_of_notes_are_bounded() -> None:
    """
    Beyond the bound they are found out anew, and are right all the same.
    """
    notes = RowNotes(ROWS)
    for number in range(MOST_KEYS + 5):
        assert notes.on(number, lengths) == [1, 2, 3]
        assert notes.of_first(1, number, lambda number=number: number) == number

    assert [notes.missing(number) for number in range(MOST_KEYS + 5)] == [0] * MOST_KEYS + [3] * 5
