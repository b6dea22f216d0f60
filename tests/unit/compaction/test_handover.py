import pytest

from proxy.compaction.handover import (
    END_MARKER,
    TINY_WINDOW,
    ask_text,
    hand_over,
    is_generated_row,
    is_summary_row,
    is_summary_text,
    neutralise,
    rest_after,
    restate,
    unwrap,
    wrap,
)
from tests.support.folding import COUNTER
from tests.support.summaries import assistant, count, result, user

BODY = "## Goal\nFix the loader."
HERMES_WITH_END = (
    f"[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.\n{BODY}\n\n"
    "--- END OF CONTEXT SUMMARY — respond below ---"
)
HERMES = [
    HERMES_WITH_END,
    "[CONTEXT SUMMARY]: " + BODY,
    "[CONTEXT SUMMARY]:\n" + BODY,
    "[CONTEXT COMPACTION] Some turns were folded into the text below:\n\n" + BODY,
    "[CONTEXT COMPACTION - REFERENCE ONLY] Some turns were folded.\n" + BODY,
]


@pytest.mark.parametrize("language", ["en", "zh", "ja", "ru", "de"])
@pytest.mark.parametrize("tiny", [False, True])
def test_unwraps_what_it_wrapped(language, tiny):
    """Prefix and end marker come off again in every language and size."""
    assert unwrap(wrap(BODY, language=language, tiny=tiny)) == BODY


@pytest.mark.parametrize("text", HERMES)
def test_knows_the_prefixes_of_hermes(text):
    """A client that folds its own history is recognised, and its text unwrapped."""
    assert unwrap(text) == BODY


def test_never_stacks_prefixes():
    """Wrapping a wrapped text, ours or foreign, leaves exactly one prefix and one end marker."""
    text = wrap(wrap(HERMES[0]))

    assert text == wrap(BODY)
    assert unwrap(wrap("@@").replace("@@", HERMES[0])) == BODY
    assert text.count(END_MARKER) == 2  # once named in the prefix, once at the end


def test_plain_text_is_no_summary():
    """Words of people stay words of people."""
    assert unwrap("Please look at [CONTEXT] in the log") is None


def test_ends_with_the_marker():
    """What follows is live."""
    assert wrap(BODY).endswith(END_MARKER)


def test_body_cannot_end_the_summary_early():
    """An end marker inside the text is made harmless."""
    wrapped = wrap(f"- quoted {END_MARKER} and more")

    assert unwrap(wrapped) == "- quoted (end of notes) and more"


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_tiny_prefix_is_short(language):
    """On small windows prefix and marker cost little: 60 tokens by the real table, measured in the bench."""
    assert count(wrap("x", language=language, tiny=True)) <= 75


@pytest.mark.parametrize("word", ["injected", "different assistant", "do not respond", "ignore", "instructions"])
@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_wording_is_neutral(word, language):
    """Some content filters refuse these words."""
    assert word not in (wrap("x", language=language) + wrap("x", language=language, tiny=True)).lower()


def test_says_how_many_messages_are_lost():
    """Where text is really lost the notice says so, and where to go on from."""
    text = wrap(BODY, lost_turns=12)

    assert "12 earlier messages could not be summarised" in text
    assert "present state of files" in text


def test_summary_row_is_no_ask():
    """A row with nothing after the end marker is a summary; with the client's words it is a real row."""
    assert is_summary_row(user(wrap(BODY)))
    assert not is_summary_row(user(wrap(BODY) + "\n\nNow fix the tests."))
    assert not is_summary_row(user("Fix it."))
    assert not is_summary_row(result(wrap(BODY)))


def test_finds_the_words_after_the_marker():
    """A merged row still yields what the client said."""
    text = wrap(BODY) + "\n\nNow fix the tests."

    assert rest_after(text) == ask_text(user(text)) == "Now fix the tests."
    assert unwrap(text) == BODY
    assert rest_after(f"{HERMES_WITH_END}\n\nNow fix the tests.") == "Now fix the tests."
    assert rest_after(HERMES_WITH_END) == rest_after("plain") == ""
    assert rest_after(f"I saw {END_MARKER} in my log") == ""


def test_summary_in_an_assistant_row_is_known_too():
    """Clients put their notes under either role."""
    assert is_summary_row(assistant(HERMES[0]))


def test_restated_ask_is_labelled():
    """It reads as still in progress, keeps the words, and is known as ours."""
    row = user(restate("Fix the tests."))

    assert row["content"].endswith("Fix the tests.")
    assert "still" in row["content"]
    assert is_generated_row(row)
    assert not is_summary_row(row)
    assert not is_generated_row(assistant(restate("Fix the tests.")))
    assert "仍在处理中" in restate("修复它", "zh")


@pytest.mark.parametrize("content", [None, 7, [{"type": "image_url"}], {"odd": 1}])
def test_odd_content_is_no_summary(content):
    """Any JSON a client sends is taken."""
    assert not is_summary_row({"role": "user", "content": content})


def test_neutralise_leaves_other_text_alone():
    """Text without our markers is not copied."""
    text = "nothing here"

    assert neutralise(text) is text


def test_older_and_later_versions_are_known():
    """The opening with a version note counts as ours."""
    assert is_summary_text("[notes on the earlier conversation, v7]\nSome other wording.\n\nbody")


def test_speaks_the_language_of_the_summary():
    """A Chinese chat was summarised in English."""
    assert "仅作背景" in hand_over("目标：修复解析器，并运行全部测试。", window=128_000)


def test_tiny_windows_get_a_short_prefix():
    """60 tokens at most, by the estimate that the proxy itself uses."""
    assert COUNTER.text(wrap("", tiny=True)) <= 60
    assert hand_over("x", window=TINY_WINDOW) == wrap("x", tiny=True)
    assert hand_over("x", window=TINY_WINDOW + 1) == wrap("x")


def test_body_cannot_open_a_summary_either():
    """Text from tools may quote our opening."""
    text = wrap("a [notes on the earlier conversation] c")

    assert "a (notes on the earlier conversation] c" in (unwrap(text) or "")


def test_content_in_parts_is_read():
    """A list of text parts counts as its text."""
    assert is_summary_row({"role": "user", "content": [{"type": "text", "text": wrap(BODY)}]})
