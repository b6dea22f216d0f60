"""
Whatever an upstream refuses with: a fault comes of it, in steps that are bounded.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proxy.chat.json import loads
from proxy.chat.sse import SseSplitter
from proxy.recovery.classify import classify
from proxy.recovery.fault import Fault, Label
from proxy.recovery.normalise import MAX_JOINED, normalise
from proxy.recovery.peek import AnswerLimits, judge_answer, judge_event
from proxy.windows.discovery import model_names, parse_loaded, parse_models, parse_ollama_show, parse_props
from tests.property.strategies import Failure, failures, json_values, streams

EXAMPLES = settings(max_examples=80, deadline=None)
STATUSES = st.none() | st.sampled_from([400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 529])
ANSWERS = json_values(
    keys=st.sampled_from(
        ["error", "choices", "message", "finish_reason", "stop_reason", "usage", "delta", "text", "prompt_tokens", "x"]
    ),
    leaves=12,
)
WINDOWS = json_values(
    keys=st.sampled_from(
        [
            "data",
            "models",
            "id",
            "n_ctx",
            "context_length",
            "meta",
            "limits",
            "model_info",
            "parameters",
            "a.context_length",
        ]
    ),
    leaves=12,
)
MOST_STEPS = 10_000
"""Calls for a refusal of any size, of Python's functions and of those in C."""
LONGEST_RUN = re.compile(r"\w{62}|\d[\d,._]{20}")
HOSTILE = (
    b"<html>" + b"<!--" * 16_000,
    b"<html>" + b"<style " * 9_000,
    b"<html>&#" + b"9" * 5_000 + b";",
    ("payload too large (" + "⑳" * 2_500 + " vs. 3)").encode(),
    b'{"error":{"message":"' + b"exceeded" * 4_000 + b'"}}',
    b'{"error":' * 7_000,
    b'["' * 30_000,
    json.dumps(["x" * 3] * 9_000).encode(),
    json.dumps({"error": [[["too long"] * 40] * 20] * 5}).encode(),
    b"data:\n" * 10_000,
    b"\\" * 60_000,
    b"'a" * 30_000 + b":",
)


@EXAMPLES
@given(failures())
@example(Failure(413, (), b"", ("too large: " + "²" * 400 + " bytes").encode()))
@example(Failure(400, (), b"", b'{"error":{"n_ctx":Infinity}}'))
def test_any_refusal_becomes_the_same_fault_each_time(failure: Failure) -> None:
    """
    Classifying never raises.
    """
    fault = classify(failure.status, failure.told)

    assert fault.label in Label
    assert fault == classify(failure.status, failure.told)


@EXAMPLES
@given(STATUSES, st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_become_a_fault(status: int | None, body: bytes) -> None:
    """
    Also those that no server would send.
    """
    assert classify(status, body).label in Label


@EXAMPLES
@given(ANSWERS)
@example({"choices": [{"finish_reason": ["length"]}]})
def test_any_answer_is_judged(value: Any) -> None:
    """
    A 200 body of any shape is judged without an exception.
    """
    body = json.dumps(value).encode()

    fault = judge_answer(loads(body), body, limits=AnswerLimits(8_000, 100))

    assert fault is None or isinstance(fault, Fault)


@EXAMPLES
@given(streams())
@example((b'data: {"choices":[{"finish_reason":{}}]}\n\n', []))
def test_any_event_is_judged(stream: tuple[bytes, list[bytes]]) -> None:
    """
    An error among them comes with a fault.
    """
    for event in SseSplitter().feed(stream[0]):
        verdict = judge_event(event)
        assert verdict.fault is None or verdict.fault.label in Label


@EXAMPLES
@given(WINDOWS)
@example({"n_ctx": "9" * 5_000})
@example({"parameters": "num_ctx " + "9" * 5_000})
def test_any_statement_of_a_window_is_read(value: Any) -> None:
    """
    A window or none, of a size that there is; never an exception.
    """
    windows = [parse_models(value, "m"), parse_loaded(value, "m"), parse_props(value), parse_ollama_show(value)]

    assert all(window is None or 256 <= window <= 10**8 for window in windows)
    assert all(isinstance(name, str) for name in model_names(value))


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_refusal_takes_few_steps(body: bytes) -> None:
    """
    And what patterns are asked of is short, without runs that they could be long about.
    """
    classify(400, b"patterns are compiled at the first refusal")
    refusal = normalise(body)

    assert steps(lambda: classify(400, body)) < MOST_STEPS
    assert len(refusal.text) <= MAX_JOINED
    assert LONGEST_RUN.search(refusal.text) is None


@EXAMPLES
@given(failures())
def test_what_patterns_are_asked_of_is_bounded(failure: Failure) -> None:
    """
    Whatever the dialect.
    """
    refusal = normalise(failure.told * 30)

    assert len(refusal.text) <= MAX_JOINED
    assert LONGEST_RUN.search(refusal.text) is None


@EXAMPLES
@given(st.integers(2_000, 2_000_000), st.integers(1, 500_000), st.integers(0, 4))
def test_wrapping_in_strings_changes_nothing(limit: int, over: int, depth: int) -> None:
    """
    An overflow is read the same however many strings it is wrapped in.
    """
    body = json.dumps({"error": {"message": f"prompt is too long: {limit + over} tokens > {limit} maximum"}})
    for _ in range(depth):
        body = json.dumps({"error": body})
    fault = classify(400, body.encode())

    assert (fault.label, fault.limit, fault.prompt) == (Label.CONTEXT_OVERFLOW, limit, limit + over)


def steps(work: Callable[[], object]) -> int:
    """
    Return how many calls *work* makes.
    """
    seen = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal seen
        seen += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return seen
