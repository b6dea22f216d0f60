import pytest

from proxy.summaries.prompt import Task, build_messages
from tests.support.summaries import count


def text(**changes) -> str:
    values = {"language": "en", "words": 300, **changes}
    return build_messages(["[USER] hello"], Task(**values))[1]["content"]


def test_same_content_gives_the_same_bytes():
    """Nothing random is in the prompt."""
    assert text() == text()


def test_marker_depends_on_the_content():
    """A record cannot contain the marker that fences it."""
    one = build_messages(["[USER] a"], Task("en", 300))[1]["content"]
    two = build_messages(["[USER] b"], Task("en", 300))[1]["content"]

    assert one.splitlines()[0] != two.splitlines()[0]


def test_instructions_come_last():
    """A model that answers the last thing it read answers us."""
    assert text().index("[USER] hello") < text().index("Return the notes alone")


def test_names_the_length_and_the_language():
    """Both are said outright."""
    assert "About 300 words" in text()
    assert "Write in Japanese" in text(language="ja")


def test_lists_sections_in_the_language_of_the_conversation():
    """Names of sections are not left in English."""
    assert "## 目标" in text(language="zh")
    assert "## Goal" not in text(language="zh")


def test_folding_shows_the_notes_so_far():
    """The previous summary stands before the record, with what to do about it."""
    folded = text(previous="## Goal\nShip it.")

    assert folded.index("Ship it.") < folded.index("[USER] hello")
    assert "answered asks to resolved" in folded


def test_focus_and_instructions_are_passed_on():
    """A focus topic gets most of the room; the operator's words are added."""
    assert "60-70 % of the length to this topic" in text(focus="the parser")
    assert text(instructions="Keep SQL.").endswith("Keep SQL.")


@pytest.mark.parametrize("word", ["injected", "different assistant", "do not respond", "ignore"])
def test_wording_is_neutral(word):
    """Some content filters refuse these words."""
    assert word not in text(previous="x", focus="y").lower()


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_fixed_part_is_short(language):
    """Every call pays it, on an 8K window too."""
    assert count("".join(row["content"] for row in build_messages(["x"], Task(language, 300, previous="y")))) < 480


def test_system_row_then_user_row():
    """The plainest form that every server takes."""
    assert [row["role"] for row in build_messages(["x"], Task("en", 9))] == ["system", "user"]
