"""
Which spellings of a row are one row, and which are not.
"""

import pytest

from proxy.records.identity import row_digest


def call(call_id="c1", name="read", arguments='{"p": 1}', **extra):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **extra}


def row(content="hi", role="user", **fields):
    return {"role": role, "content": content, **fields}


def calls(*made, **fields):
    return {"role": "assistant", "content": None, "tool_calls": list(made), **fields}


def text(value, **extra):
    return {"type": "text", "text": value, **extra}


def image(url, **extra):
    return {"type": "image_url", "image_url": {"url": url, **extra}}


SAME = {
    "key order": (row(), {"content": "hi", "role": "user"}),
    "text and one text part": (row(), row([text("hi")])),
    "text and a bare string in a list": (row(), row(["hi"])),
    "null and absent": (row(), row(name=None, tool_calls=None, refusal=None, weight=None)),
    "empty, null, absent and no content": (calls(call()), {"role": "assistant", "tool_calls": [call()]}),
    "empty text and null content": (calls(call()), {**calls(call()), "content": ""}),
    "empty list and null content": (calls(call()), {**calls(call()), "content": []}),
    "no calls and an empty list of calls": (row("a", "assistant"), row("a", "assistant", tool_calls=[])),
    "empty name": (row(), row(name="")),
    "cache mark on the row": (row(), row(cache_control={"type": "ephemeral"})),
    "cache mark on a part": (row(), row([text("hi", cache_control={"type": "ephemeral"})])),
    "cache mark on an image": (row([image("u")]), row([{**image("u"), "cache_control": {"type": "ephemeral"}}])),
    "dropped reasoning": (row("a", "assistant"), row("a", "assistant", reasoning="r", reasoning_content="r")),
    "dropped reasoning details": (row("a", "assistant"), row("a", "assistant", reasoning_details=[{"x": 1}])),
    "dropped thinking part": (
        row("a", "assistant"),
        row([{"type": "thinking", "thinking": "t"}, text("a")], "assistant"),
    ),
    "audio of an answer": (row("a", "assistant"), row("a", "assistant", audio={"id": "x"})),
    "refusal field": (row("a", "assistant"), row("a", "assistant", refusal="no")),
    "private keys": (row(), row(_id=4, _meta={"a": 1})),
    "private keys of a part": (row(), row([text("hi", _id=3)])),
    "thought signature of a call": (calls(call()), calls(call(extra_content={"google": {"thought_signature": "s"}}))),
    "stream index of a call": (calls(call()), calls(call(index=0))),
    "image as text and as object": (row([image("u")]), row([{"type": "image_url", "image_url": "u"}])),
    "null detail of an image": (row([image("u")]), row([image("u", detail=None)])),
    "key order of an unknown part": (
        row([{"type": "file", "file": {"id": 1, "name": "n"}}]),
        row([{"file": {"name": "n", "id": 1}, "type": "file"}]),
    ),
    "null in an unknown part": (
        row([{"type": "file", "file": {"id": 1}}]),
        row([{"type": "file", "file": {"id": 1, "d": None}}]),
    ),
}

DIFFERENT = {
    "role": (row(), row(role="assistant")),
    "developer and user": (row(), row(role="developer")),
    "text": (row(), row("hi ")),
    "number of parts": (row([text("a"), text("b")]), row([text("ab")])),
    "where parts are cut": (row([text("ab"), text("c")]), row([text("a"), text("bc")])),
    "order of parts": (row([text("a"), text("b")]), row([text("b"), text("a")])),
    "call id": (calls(call("a")), calls(call("b"))),
    "name of the call": (calls(call(name="read")), calls(call(name="write"))),
    "arguments to the letter": (calls(call(arguments='{"p": 1}')), calls(call(arguments='{"p":1}'))),
    "arguments as text and as object": (calls(call(arguments='{"p": 1}')), calls(call(arguments={"p": 1}))),
    "null in arguments as object": (calls(call(arguments={"p": None})), calls(call(arguments={}))),
    "number of calls": (calls(call("a")), calls(call("a"), call("b"))),
    "order of calls": (calls(call("a"), call("b")), calls(call("b"), call("a"))),
    "which call is answered": (row("r", "tool", tool_call_id="a"), row("r", "tool", tool_call_id="b")),
    "answered or not": (row("r", "tool", tool_call_id="a"), row("r", "tool")),
    "name": (row(name="ann"), row(name="bob")),
    "image": (row([image("u")]), row([image("v")])),
    "detail of an image": (row([image("u", detail="low")]), row([image("u", detail="high")])),
    "image and its address as text": (row([image("u")]), row([text("u")])),
    "unknown key": (row(), row(weight=1)),
    "value of an unknown key": (row(weight=1), row(weight=2)),
    "type of an unknown value": (row(weight=1), row(weight="1")),
    "unknown part": (row([{"type": "file", "file": {"id": 1}}]), row([{"type": "file", "file": {"id": 2}}])),
    "legacy call": (row("a", "assistant"), row("a", "assistant", function_call={"name": "f", "arguments": "{}"})),
    "custom call": (
        calls({"id": "a", "type": "custom", "custom": {"name": "f", "input": "x"}}),
        calls({"id": "a", "type": "custom", "custom": {"name": "f", "input": "y"}}),
    ),
    "unknown key of a part or of the row": (row([text("hi", x=1)]), row("hi", x=1)),
    "which part an unknown key belongs to": (row([text("a", x=1), text("b")]), row([text("a"), text("b", x=1)])),
    "unknown key of an image or of its part": (row([image("u", x=1)]), row([{**image("u"), "x": 1}])),
    "unknown key of an empty part": (row([text("a", x=1)]), row([text("a"), text("", x=1)])),
    "text that looks like a tag": (row([text("a"), text("b")]), row("atextb")),
    "text and the same as odd content": (row("1"), row(1)),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_is_the_same_row(one, other):
    """What clients drop, add or move between turns does not count."""
    assert row_digest(one) == row_digest(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_is_another_row(one, other):
    """Everything else does."""
    assert row_digest(one) != row_digest(other)


def test_digests_text_with_lone_surrogates():
    """Half a surrogate pair reaches us in a JSON escape; it has a digest of its own."""
    assert row_digest(row("\ud83d")) != row_digest(row("\ud83e"))


def test_digests_deeply_nested_values():
    """Nesting deeper than Python recurses does not fail."""
    deep = "leaf"
    for _ in range(20_000):
        deep = [{"a": deep}]

    assert len(row_digest(row([deep]))) == 16


def test_leaves_the_row_as_it_was():
    """Reading a row changes nothing in it."""
    original = row([text("hi", cache_control={}), image("u")], tool_calls=[call()], x={"b": 1, "a": [None]})
    copy = row([text("hi", cache_control={}), image("u")], tool_calls=[call()], x={"b": 1, "a": [None]})
    row_digest(original)

    assert original == copy
