import pytest

from proxy.chat.answers import (
    Usage,
    answer_message,
    answer_text,
    calls_tools,
    finish_reason_of,
    first_choice,
    is_usage_frame,
    usage_of,
)

ODD = [None, 7, "text", [], {}, {"choices": None}, {"choices": []}, {"choices": [None]}, {"usage": 3}]


def answer(message, finish="stop"):
    """
    Return a complete answer with one choice.
    """
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def test_reads_usage_with_cached_tokens():
    """
    Cached tokens are part of the prompt at most servers.
    """
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}}

    assert usage_of({"usage": usage}) == Usage(100, 7, 64)


def test_reads_usage_in_the_words_of_relatives():
    """
    ``input_tokens`` and ``cache_read_input_tokens``.
    """
    usage = {"input_tokens": 100, "output_tokens": 7, "cache_read_input_tokens": 64}

    assert usage_of({"usage": usage}) == Usage(100, 7, 64)


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": None}, {"prompt_tokens": True}, {"prompt_tokens": "9"}, None])
def test_usage_without_a_prompt_count_is_none(usage):
    """
    Nothing to calibrate with.
    """
    assert usage_of({"usage": usage}) is None


def test_counts_written_as_floats_are_read():
    """
    Some servers write 12.0.
    """
    assert usage_of({"usage": {"prompt_tokens": 12.0}}) == Usage(12)


@pytest.mark.parametrize("data", ODD)
def test_odd_answers_never_raise(data):
    """
    Whatever an upstream sends.
    """
    assert usage_of(data) is None
    assert finish_reason_of(data) is None
    assert first_choice(data) is None
    assert answer_message(data) == {}
    assert answer_text(data) == ""
    assert not calls_tools(data)
    assert not is_usage_frame(data)


def test_reads_the_first_choice():
    """
    Its text, its reason to stop.
    """
    data = answer({"role": "assistant", "content": "hello"}, "length")

    assert answer_text(data) == "hello"
    assert finish_reason_of(data) == "length"
    assert not calls_tools(data)


def test_an_odd_finish_reason_or_message_is_none():
    """
    Only strings are reasons, only objects are messages.
    """
    assert finish_reason_of(answer({}, 3)) is None
    assert answer_message(answer("text")) == {}


def test_tells_tool_calls_even_without_a_role():
    """
    Some servers leave the role out.
    """
    assert calls_tools(answer({"tool_calls": [{"id": "a", "function": {"name": "f"}}]}))


def test_a_usage_frame_has_usage_and_no_choice():
    """
    The one that ``include_usage`` adds.
    """
    assert is_usage_frame({"choices": [], "usage": {"prompt_tokens": 1}})
    assert not is_usage_frame({"choices": [{}], "usage": {"prompt_tokens": 1}})
    assert not is_usage_frame({"choices": [], "usage": None})
