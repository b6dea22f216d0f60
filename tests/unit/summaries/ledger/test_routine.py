import pytest

from proxy.summaries.ledger.routine import fade_routine, pattern_of
from proxy.summaries.ledger.units import Source, Unit


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("warning: unused cache 'a_b' [17]", "warning: unused worker 'c_d.e' [98766]"),
        ("* lookup of src/a.py is up to date", "* index of lib/b/c.py is up to date"),
        ("Let me look at the parser next.", "Let me look at the loader next."),
        ("処理 12 件", "処理 7 件"),
    ],
)
def test_lines_of_a_kind_share_a_pattern(one, other):
    """Names, numbers and content words make no difference."""
    assert pattern_of(one) == pattern_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("queued as ABC-1, priority 2", "warning: unused cache 'x' [2]"), ("all is well", "not all is well")],
)
def test_other_lines_have_another_pattern(one, other):
    """Signs and common words stay."""
    assert pattern_of(one) != pattern_of(other)


def test_what_one_output_after_another_says_fades():
    """The more rows have such a line, the less rare it is; a line of its own kind stays as it was."""
    units = [Unit(row, Source.TOOL, f"warning: unused name 'x{row}' [{row}]") for row in range(4)]
    units.append(Unit(9, Source.TOOL, "shard 7 -> moved to host-4"))
    faded = fade_routine(units)

    assert [unit.rarity for unit in faded] == [0.5, 0.5, 0.5, 0.5, 1.0]


@pytest.mark.parametrize(
    "unit",
    [
        Unit(0, Source.TOOL, "id=7 name=ann", is_record=True),
        Unit(0, Source.USER, "Please go on."),
        Unit(0, Source.ASSISTANT, "I changed src/load.py."),
    ],
)
def test_records_words_of_people_and_exact_sentences_do_not_fade(unit):
    """Many records of one kind are data; what people say, and what names something exactly, is never routine."""
    units = [unit, Unit(1, **{f: getattr(unit, f) for f in ("source", "text", "is_record")})]

    assert [found.rarity for found in fade_routine(units)] == [1.0, 1.0]
