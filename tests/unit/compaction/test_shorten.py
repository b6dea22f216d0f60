import pytest

from proxy.compaction.shorten import shorten

SECTIONS = "\n\n".join(
    f"## Part {n}\n" + "\n".join(f"- line {n}.{line} of this part" for line in range(40)) for n in range(5)
)


def count(text):
    """
    Count words: exact, and easy to read in a test.
    """
    return len(text.split())


def test_a_text_that_fits_is_left_alone():
    """
    To the byte.
    """
    assert shorten(SECTIONS, tokens=count(SECTIONS), count=count) is SECTIONS


@pytest.mark.parametrize("tokens", [0, 1, 5, 17, 60, 200, 700])
def test_never_above_the_limit(tokens):
    """
    A summary that comes back longer than its ceiling is cut to it.
    """
    assert count(shorten(SECTIONS, tokens=tokens, count=count)) <= tokens
    assert count(shorten("word " * 900, tokens=tokens, count=count)) <= tokens


def test_every_section_keeps_its_heading_and_first_lines():
    """
    Cutting the end off would lose the last sections whole.
    """
    text = shorten(SECTIONS, tokens=120, count=count)

    for n in range(5):
        assert f"## Part {n}\n- line {n}.0 of this part" in text
    assert all(line in SECTIONS for line in text.splitlines())


def test_lines_are_cut_where_even_one_a_section_is_too_much():
    """
    A model that writes without line breaks.
    """
    text = shorten("## Goal\n" + "a" * 400 + "\n**Done**:\n" + "b" * 400, tokens=60, count=len)

    assert text.startswith("## Goal\naaa")
    assert "**Done**:\nbbb" in text
    assert len(text) <= 60


def test_sections_go_where_headings_alone_are_too_much():
    """
    The first ones stay.
    """
    text = shorten(SECTIONS, tokens=6, count=count)

    assert text.startswith("## Part 0")
    assert "Part 4" not in text


def test_headings_without_lines_are_left_out():
    """
    Empty sections say nothing.
    """
    assert "Empty" not in shorten("## Empty\n## Goal\n" + "- a b c\n" * 90, tokens=30, count=count)


def test_text_of_headings_alone_is_cut_too():
    """
    Odd, and still bounded.
    """
    assert count(shorten("# a b c d\n" * 50, tokens=9, count=count)) <= 9
