import pytest

from proxy.summaries.sections import TITLES, TOP_SECTIONS, Section, heading_of, render, section_of, title


def test_writes_sections_in_their_order():
    """Order is fixed whatever order the blocks come in; empty ones are left out."""
    text = render({Section.CRITICAL: ["- x"], Section.GOAL: ["g"], Section.FILES: []}, "en")

    assert text == "## Goal\ng\n\n## Critical context\n- x"


def test_puts_progress_in_three_parts():
    """Done, in progress and blocked stand under one heading."""
    text = render({Section.BLOCKED: ["- b"], Section.DONE: ["- d"]}, "en")

    assert text == "## Progress\n### Done\n- d\n### Blocked\n- b"


@pytest.mark.parametrize("language", TITLES)
def test_finds_its_own_headings_again(language):
    """Every name in every language leads back to its section."""
    for section in Section:
        assert section_of(f"## {title(section, language)}") is section


@pytest.mark.parametrize("line", ["**Key decisions**", "### Key Decisions:", "# key decisions", "**Key decisions:**"])
def test_knows_headings_as_models_write_them(line):
    """Bold, other depths, colons and capitals do not matter."""
    assert section_of(line) is Section.DECISIONS


def test_ignores_a_note_after_a_heading():
    """A remark in brackets is no part of the name."""
    assert section_of("## Constraints & preferences (quoted verbatim)") is Section.CONSTRAINTS


@pytest.mark.parametrize("line", ["- Goal", "Goal", "#hashtag", "a # b"])
def test_takes_plain_lines_for_what_they_are(line):
    """Only a heading opens a section."""
    assert section_of(line) is None or heading_of(line) == "hashtag"


def test_unknown_language_falls_back_to_english():
    """A language without names of its own gets the English ones."""
    assert title(TOP_SECTIONS[0], "xx") == "Goal"
