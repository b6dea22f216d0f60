"""
The bound by bytes holds for whatever a client may send.
"""

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from proxy.chat.json import dumps, loads
from proxy.chat.request import ChatRequest
from proxy.chat.row_notes import RowNotes
from proxy.tokens.bound import holds_only_text, upper_bound
from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary

VOCABULARY = Vocabulary()
VOCABULARY.load()

texts = st.text(max_size=60) | st.sampled_from(
    ["QUJD" * 700, "data:image/png;base64," + "A" * 2_100, "a b", "🎉", "1e9"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
keys = st.sampled_from(["text", "type", "content", "name", "signature", "data", "x", "arguments"]) | st.text(max_size=6)
values = st.recursive(scalars, lambda v: st.lists(v, max_size=4) | st.dictionaries(keys, v, max_size=4), max_leaves=12)
functions = st.fixed_dictionaries({}, optional={"name": values, "arguments": values, "input": values})
calls = st.fixed_dictionaries({}, optional={"id": texts, "function": functions, "custom": functions})
messages = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool", ""]) | texts,
        "content": values,
        "name": values,
        "tool_calls": st.lists(calls | values, max_size=4) | values,
        "function_call": functions | values,
        "reasoning": values,
        "reasoning_content": values,
        "reasoning_details": values,
        "refusal": values,
        "odd": values,
    },
)
requests = st.fixed_dictionaries(
    {"messages": st.lists(messages, min_size=1, max_size=5)},
    optional={
        "tools": values,
        "functions": values,
        "response_format": values,
        "tool_choice": values,
        "function_call": values,
        "documents": values,
    },
)


def count(data, vocabulary=VOCABULARY):
    counter = TokenCounter(vocabulary, CountCache())
    return counter.messages(data["messages"]) + counter.fixed(data)


def bodies(data):
    """
    The request as three kinds of clients write it.
    """
    yield dumps(data)
    yield json.dumps(data, separators=(",", ":")).encode()
    yield json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")


@given(requests)
@example({"messages": [{}] * 5})
@example({"messages": [{"tool_calls": [{}, {}, {}, {}]}]})
@example({"messages": [{"tool_calls": [{"function": {"name": ""}}] * 4}]})
@example({"messages": [{"content": [[]] * 4}]})
@example({"messages": [{"content": [1e9, 1e22, 2.0, 0.0001]}], "tools": [1e15]})
@example({"messages": [{"content": [{"x": "\ud83d"}, 10**25, "é"]}]})
@example({"messages": [{"name": "", "content": ""}], "tool_choice": "a", "function_call": {"name": "x"}})
@settings(max_examples=120, deadline=None)
def test_no_request_has_more_tokens_than_bytes(data):
    """
    Frames, names, calls, schemas and blobs never weigh more than the JSON that carries them.
    """
    for body in bodies(data):
        rows = loads(body)["messages"]
        bound = len(body) if holds_only_text(RowNotes(rows)) else upper_bound(body)

        assert bound is None or count(loads(body)) <= bound


@given(requests, st.integers(0, 5))
@settings(max_examples=120, deadline=None)
def test_nor_has_one_whose_first_rows_were_counted(data, seen):
    """
    What was counted on an earlier turn, and the bytes of all else: new rows, and whatever stands beside the rows.
    """
    counter = TokenCounter(VOCABULARY, CountCache())
    for body in bodies(data):
        earlier = ChatRequest.parse(dumps({**data, "messages": data["messages"][:seen]}))
        if earlier is None:
            continue
        counter.running(earlier.notes)
        shared = len(earlier.messages)
        request = ChatRequest.parse(body)
        notes = earlier.notes.handed_on(request.messages, shared=shared)
        rows, tokens = counter.counted(notes)
        bound = tokens + len(request.beside(rows))

        assert rows == shared
        assert (
            not holds_only_text(notes, behind=rows) or counter.running(notes)[-1] + counter.fixed(request.data) <= bound
        )


@given(requests)
@settings(max_examples=60, deadline=None)
def test_the_bound_holds_for_estimates_too(data):
    """
    Before the table is loaded the same promise is kept.
    """
    body = json.dumps(data, separators=(",", ":")).encode()
    bound = upper_bound(body)

    assert bound is None or count(loads(body), Vocabulary()) <= bound


def test_numbers_written_short_by_hand_keep_the_bound():
    """
    Python would write 1e9 as ten digits and a fraction.
    """
    body = b'{"messages":[{"content":[' + b",".join([b"1e9", b"1e2", b"1E5", b"1e-4"] * 500) + b"]}]}"

    assert count(loads(body)) <= len(body)
