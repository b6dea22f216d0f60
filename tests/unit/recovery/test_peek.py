from __future__ import annotations

import json

import pytest

from proxy.chat.json import loads
from proxy.chat.sse import parse_event
from proxy.recovery.fault import Label
from proxy.recovery.peek import AnswerLimits, Sign, judge_answer, judge_end, judge_event


def judge(data: object, *, name: str = ""):
    text = data if isinstance(data, str) else json.dumps(data)
    prefix = f"event: {name}\n" if name else ""
    return judge_event(parse_event(f"{prefix}data: {text}\n\n".encode()))


def judged(body: bytes, limits: AnswerLimits = AnswerLimits()):  # noqa: B008 - it is frozen
    try:
        value = loads(body)
    except ValueError:
        value = None
    return judge_answer(value, body, limits=limits)


def chunk(delta: object = None, finish: str | None = None, **more: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}], **more}


@pytest.mark.parametrize(
    "delta",
    [
        {"content": "Hi"},
        {"role": "assistant", "content": "Hi"},
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"tool_calls": [{"index": 0, "id": "c1"}]},
        {"refusal": "no"},
        {"something_new": [1]},
    ],
)
def test_text_reasoning_and_tool_calls_are_content(delta: dict[str, object]) -> None:
    """
    After them no retry is possible; what we do not know is content, too.
    """
    assert judge(chunk(delta)).sign is Sign.CONTENT


@pytest.mark.parametrize(
    "delta",
    [
        {"role": "assistant"},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "", "tool_calls": None},
        {},
    ],
)
def test_a_role_alone_is_nothing(delta: dict[str, object]) -> None:
    """
    Explicit nulls and empty texts are no content either.
    """
    assert judge(chunk(delta)).sign is Sign.NOTHING


def test_a_comment_is_nothing() -> None:
    """
    Keep-alives carry no answer.
    """
    assert judge_event(parse_event(b": keep-alive\n\n")).sign is Sign.NOTHING


def test_a_usage_chunk_is_nothing() -> None:
    """
    Its choices are empty.
    """
    assert judge({"choices": [], "usage": {"prompt_tokens": 3}}).sign is Sign.NOTHING


def test_done_is_done() -> None:
    """
    The end of the stream.
    """
    assert judge("[DONE]").sign is Sign.DONE


def test_a_finish_reason_without_content_is_an_end() -> None:
    """
    An empty answer that stops is an answer.
    """
    assert judge(chunk(None, "stop")).sign is Sign.FINISHED


def test_legacy_text_is_content() -> None:
    """
    Completions carry text, not a delta.
    """
    assert judge({"choices": [{"text": "Hi"}]}).sign is Sign.CONTENT


def test_data_that_is_no_json_is_content() -> None:
    """
    What we do not understand is relayed.
    """
    assert judge("hello").sign is Sign.CONTENT


def test_an_event_of_another_dialect_is_content() -> None:
    """
    An object without choices is not ours to judge.
    """
    assert judge({"type": "response.created"}).sign is Sign.CONTENT


OVERFLOW = {"message": "prompt is too long: 9001 tokens > 8000 maximum", "code": 400}


@pytest.mark.parametrize(
    "event",
    [
        {"error": OVERFLOW},
        {"error": "prompt is too long: 9001 tokens > 8000 maximum"},
        {"type": "error", "error": OVERFLOW},
        {"object": "error", **OVERFLOW},
        {"type": "response.failed", "response": {"error": OVERFLOW}},
        chunk({"content": ""}, "error", error=OVERFLOW),
        {"message": OVERFLOW["message"]},
    ],
    ids=["error", "bare", "anthropic", "vllm", "responses", "openrouter", "naked"],
)
def test_an_error_event_is_a_fault(event: dict[str, object]) -> None:
    """
    Providers answer 200 and put the refusal into the first event.
    """
    verdict = judge(event)

    assert verdict.sign is Sign.ERROR
    assert verdict.fault is not None
    assert (verdict.fault.label, verdict.fault.limit) == (Label.CONTEXT_OVERFLOW, 8000)


def test_an_event_named_error_is_a_fault() -> None:
    """
    Its name is enough.
    """
    assert judge("Overloaded", name="error").sign is Sign.ERROR


def test_an_error_that_is_null_is_none() -> None:
    """
    Some servers send the field always.
    """
    assert judge(chunk({"content": "Hi"}, error=None)).sign is Sign.CONTENT


def test_a_finish_reason_that_names_the_window_is_an_overflow() -> None:
    """
    One provider says it there alone.
    """
    verdict = judge(chunk(None, "model_context_window_exceeded"))

    assert verdict.fault is not None
    assert verdict.fault.label is Label.CONTEXT_OVERFLOW


def test_an_empty_stream_is_a_failed_call_without_a_reason() -> None:
    """
    One server answers every exception in a stream with 200 and no event at all.
    """
    fault = judge_end()

    assert (fault.confident, fault.known) == (False, False)


def body(finish: str = "length", *, prompt: int = 1022, completion: int = 2, text: str = "A b") -> bytes:
    return json.dumps(
        {
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": completion},
        }
    ).encode()


WINDOW = AnswerLimits(window=1024)


def test_an_answer_cut_off_at_the_window_is_an_overflow() -> None:
    """
    1,022 tokens in a window of 1,024: 200, two tokens, finish_reason length.
    """
    fault = judged(body(), WINDOW)

    assert fault is not None
    assert (fault.label, fault.limit, fault.prompt) == (Label.CONTEXT_OVERFLOW, 1024, 1022)


@pytest.mark.parametrize(
    ("answer", "limits"),
    [
        (body("stop"), WINDOW),
        (body(prompt=500), WINDOW),
        (body(prompt=924, completion=100), WINDOW),
        (body(), AnswerLimits(window=1024, asked_output=2)),
        (body(), AnswerLimits()),
        (b'{"choices": [{"message": {"content": "Hi"}, "finish_reason": "length"}]}', WINDOW),
    ],
    ids=["stopped", "far below", "a real answer", "as asked", "window unknown", "no usage"],
)
def test_other_answers_are_answers(answer: bytes, limits: AnswerLimits) -> None:
    """
    Only a handful of tokens, not by wish, with the window full, is an overflow.
    """
    assert judged(answer, limits) is None


@pytest.mark.parametrize(
    "answer", [b'{"error": {"message": "prompt is too long"}}', b'[{"error": {"message": "prompt is too long"}}]']
)
def test_an_error_inside_a_200_is_a_fault(answer: bytes) -> None:
    """
    The status is not the whole truth.
    """
    fault = judged(answer)

    assert fault is not None
    assert (fault.label, fault.status) == (Label.CONTEXT_OVERFLOW, None)


@pytest.mark.parametrize(
    "answer",
    [b"", b"plain text", b"[]", b'{"data": []}', b'{"choices": [], "error": null}', b'{"result": {}, "errors": []}'],
)
def test_a_body_that_is_no_error_is_relayed(answer: bytes) -> None:
    """
    Odd bodies are not ours to judge.
    """
    assert judged(answer) is None
