from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.recovery.classify import classify
from proxy.recovery.fault import Label
from proxy.recovery.peek import judge_body

EXAMPLES = settings(max_examples=50, deadline=None)
STATUSES = st.none() | st.sampled_from([400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 529])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "n_ctx", "detail", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@EXAMPLES
@given(STATUSES, st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_get_a_label(status: int | None, body: bytes) -> None:
    """
    Classifying never raises, and always gives the same.
    """
    assert classify(status, body) == classify(status, body)


@EXAMPLES
@given(STATUSES, JSON)
def test_any_json_gets_a_label(status: int | None, value: object) -> None:
    """
    Odd nesting, odd types and odd numbers are no reason to fail.
    """
    assert classify(status, json.dumps(value).encode()).label in Label


@EXAMPLES
@given(JSON)
def test_any_json_is_judged(value: object) -> None:
    """
    A 200 body of any shape is judged without an exception.
    """
    fault = judge_body(json.dumps(value).encode())

    assert fault is None or fault.label in Label


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
