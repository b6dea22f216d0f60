from proxy.compaction.handover import restate, wrap
from proxy.summaries.ledger.units import Source, clean, read, sentences, shape_of, without_line_number
from proxy.summaries.sections import Section
from tests.support.summaries import assistant, call, result, user


def units(*rows):
    return [(unit.source, unit.text) for unit in read(rows).units]


def test_paragraphs_of_people_stay_whole():
    """One unit a paragraph."""
    assert units(user("First. Second.\n\nThird.")) == [(Source.USER, "First. Second."), (Source.USER, "Third.")]


def test_bulk_text_in_a_user_row_is_read_line_by_line():
    """A pasted log is no wish."""
    pasted = "Look:\n\n" + "\n".join(f"line {n}" for n in range(20))

    assert [source for source, _ in units(user(pasted))][:2] == [Source.USER, Source.PASTED]


def test_the_assistant_is_read_by_sentence():
    """Headings and list signs are left out."""
    assert units(assistant("# Plan\n- Read it. Then wrote it.")) == [
        (Source.ASSISTANT, "Read it."),
        (Source.ASSISTANT, "Then wrote it."),
    ]


def test_sentences_in_scripts_without_spaces():
    """Their own full stops end them."""
    assert sentences("已修复。请检查！好吗？") == ["已修复。", "请检查！", "好吗？"]


def test_output_is_read_by_line_under_its_call():
    """Each line knows its call, whatever ids the client reuses."""
    rows = [call("a"), result("one"), call("b"), result("two")]
    found = [(unit.text, unit.group) for unit in read(rows).units if unit.source is Source.TOOL]

    assert found == [("one", 0), ("two", 1)]


def test_rare_shapes_stand_out():
    """One line among many of a kind has rarity one."""
    rows = [call("a"), result("10:01 ok\n10:02 ok\n10:03 ok\nports: many")]
    rarity = {unit.text: unit.rarity for unit in read(rows).units if unit.source is Source.TOOL}

    assert rarity["ports: many"] == 1
    assert rarity["10:01 ok"] < 0.5


def test_very_long_lines_are_cut_in_windows():
    """None longer than 320 characters; opaque runs are left out."""
    text = " ".join(f"field{n}={n}" for n in range(200)) + " " + "A" * 500
    found = [unit.text for unit in read([call("a"), result(text)]).units if unit.source is Source.TOOL]

    assert max(map(len, found)) <= 320
    assert "AAAA" not in "".join(found)


def test_huge_outputs_are_bounded():
    """The first and the last lines of an endless one."""
    found = read([call("a"), result("\n".join(str(n) for n in range(50_000)))]).units

    assert len(found) < 6_100
    assert found[-1].text == "49999"


def test_notes_keep_their_sections():
    """A summary row is read as notes, what follows its end as words of the user."""
    row = user(wrap("## Key decisions\n- Port 5 was chosen.") + "\n\nNow go on with the tests.")
    found = read([row]).units

    assert [(unit.source, unit.section) for unit in found] == [(Source.NOTE, Section.DECISIONS), (Source.USER, None)]


def test_a_restated_ask_is_no_new_ask():
    """It is ours, not the user's."""
    assert all(source is Source.NOTE for source, _ in units(user(restate("Fix it."))))


def test_shapes_mask_letters_and_digits():
    """Ten characters, whatever the line number in front."""
    assert shape_of("  12: abc 345 def") == shape_of("abc 9 xyz")
    assert without_line_number("   12\tx = 1") == "x = 1"


def test_clean_text():
    """Data URIs, invisible characters and secrets are gone."""
    assert (
        clean("a\u200b data:image/png;base64,AAAABBBBCCCCDDDD token=abc12345x", mask=True)
        == "a [data] token=[redacted]"
    )
