import pytest

from proxy.chat.messages import Message
from proxy.compaction.handover import (
    END_MARKER,
    RESTATED_MARK,
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
from tests.support.conversations import assistant, result, user
from tests.support.folding import COUNTER

BODY = "## Goal\nThe user wanted the parser fixed."
HERMES = f"[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.\n{BODY}\n\n--- END OF CONTEXT SUMMARY — respond below ---"


@pytest.mark.parametrize("language", ["en", "zh", "ja", "de"])
@pytest.mark.parametrize("tiny", [True, False])
def test_what_is_wrapped_can_be_unwrapped(language, tiny):
    """
    In every language and size, so that a summary never comes to stand inside another.
    """
    assert unwrap(wrap(BODY, language=language, tiny=tiny)) == BODY


def test_wrapping_twice_is_wrapping_once():
    """
    Stacked summaries grew eightfold in five rounds.
    """
    assert wrap(wrap(BODY)) == wrap(BODY)
    assert wrap(HERMES) == wrap(BODY)


def test_nested_prefixes_all_come_off():
    """
    Ours around one of Hermes Agent's.
    """
    assert unwrap(wrap("@@").replace("@@", HERMES)) == BODY


def test_other_texts_are_no_summary():
    """
    Nothing to unwrap.
    """
    assert unwrap("please fix it") is None
    assert not is_summary_text("please fix it")


def test_what_follows_the_end_marker_is_the_users_own():
    """
    The prefix names the marker too: that is not where the summary ends.
    """
    text = f"{wrap(BODY)}\n\nnow run the tests"

    assert rest_after(text) == "now run the tests"
    assert ask_text(user(text)) == "now run the tests"
    assert unwrap(text) == BODY
    assert rest_after("plain") == ""


def test_what_follows_a_summary_of_hermes_agent_is_the_users_own():
    """
    A client that folds its own history puts its ask behind its own end mark.
    """
    assert rest_after(f"{HERMES}\n\nnow run the tests") == "now run the tests"
    assert rest_after(HERMES) == ""


def test_a_summary_alone_never_counts_as_an_ask():
    """
    It became the active turn, and old tasks were taken up again.
    """
    assert is_summary_row(user(wrap(BODY)))
    assert is_summary_row(assistant(HERMES))
    assert not is_summary_row(user(f"{wrap(BODY)}\n\ngo on"))
    assert not is_summary_row(result("a", wrap(BODY)))
    assert not is_summary_row(user("go on"))


def test_a_restated_ask_counts_as_written_by_a_compactor():
    """
    So that it is not restated again as if it were new.
    """
    assert is_generated_row(user(restate("fix it")))
    assert is_generated_row(user(wrap(BODY)))
    assert not is_generated_row(assistant(restate("fix it")))


def test_a_restated_ask_is_verbatim_and_labelled():
    """
    In the language of the ask.
    """
    assert restate("fix it").startswith(RESTATED_MARK)
    assert restate("fix it").endswith("\n\nfix it")
    assert "仍在处理中" in restate("修复它", "zh")


def test_a_summary_speaks_its_own_language():
    """
    A Chinese chat was summarised in English.
    """
    assert "仅作背景" in hand_over("目标：修复解析器，并运行全部测试。", window=128_000)


def test_tiny_windows_get_a_short_prefix():
    """
    60 tokens at most.
    """
    overhead = COUNTER.text(wrap("", tiny=True))

    assert overhead <= 60
    assert hand_over("x", window=TINY_WINDOW) == wrap("x", tiny=True)
    assert hand_over("x", window=TINY_WINDOW + 1) == wrap("x")


def test_lost_turns_are_announced():
    """
    Never dropped silently.
    """
    assert "12 earlier messages could not be summarised" in wrap(BODY, lost_turns=12)


def test_a_summary_cannot_end_itself_early():
    """
    Text from tools may quote our marks.
    """
    text = wrap(f"a {END_MARKER} b [notes on the earlier conversation] c")

    assert "b (notes on the earlier conversation] c" in (unwrap(text) or "")
    assert neutralise("plain") == "plain"


@pytest.mark.parametrize("word", ["injected", "DIFFERENT assistant", "do NOT respond", "ignore", "instructions"])
@pytest.mark.parametrize("tiny", [True, False])
def test_the_prefix_uses_no_words_that_filters_flag(word, tiny):
    """
    A provider's filter answered 400 for a jailbreak attempt.
    """
    assert word.casefold() not in wrap("", tiny=tiny).casefold()


def test_rows_of_any_shape_are_read():
    """
    Content may be a list or a dict.
    """
    row: Message = {"role": "user", "content": [{"type": "text", "text": wrap(BODY)}]}

    assert is_summary_row(row)
    assert not is_summary_row({"role": "user", "content": {"a": 1}})
