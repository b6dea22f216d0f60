"""
Bodies of chat requests: what SDKs send, what odd clients send, and what is no chat request at all.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.property.strategies.rows import any_rows
from tests.property.strategies.values import json_values, odd_json

_TOOL = {"type": "function", "function": {"name": "read_file", "parameters": {"type": "object", "properties": {}}}}
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "stream": st.sampled_from([True, False, None, "true", 1]),
    "stream_options": st.sampled_from([{"include_usage": True}, {}, None, {"x": 1}]),
    "max_tokens": st.sampled_from([1, 0, -1, 7.5, "9", None, 10**30]),
    "max_completion_tokens": st.sampled_from([1, 64, None, [], 10**30]),
    "n": st.sampled_from([1, 2, 0, "two"]),
    "temperature": st.floats() | st.none(),
    "tools": st.sampled_from([[], [_TOOL], None, [{}], "tools", {"a": 1}]),
    "tool_choice": st.sampled_from(["auto", "none", {"type": "function", "function": {"name": "read_file"}}, 7]),
    "response_format": st.sampled_from([{"type": "json_object"}, {"type": "text"}, None, []]),
    "logprobs": st.booleans(),
    "store": st.booleans(),
    "metadata": st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
    "functions": st.sampled_from([[{"name": "f"}], None]),
    "stop": st.sampled_from(["\n", ["a", "b"], None]),
    "prediction": st.sampled_from([{"type": "content", "content": "x"}, None]),
    "user": st.text(max_size=8),
    "prompt_cache_key": st.text(max_size=8),
}
_ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", "critic", "", None, 7])
_ROW_KEYS = st.sampled_from(["content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "reasoning_details"])


@st.composite
def _loose_rows(draw: st.DrawFn) -> Any:
    """
    Return rows that follow no rule: any role, any content, rows that are none.
    """
    row = st.builds(
        lambda role, more: {"role": role, **more}, _ROLES, st.dictionaries(_ROW_KEYS, json_values(), max_size=3)
    )
    return draw(st.lists(row | json_values(leaves=3), max_size=5))


@st.composite
def _requests(draw: st.DrawFn) -> dict[str, Any]:
    """
    Return a request with some of the fields that there are, and some that there are not, in any order.
    """
    names = draw(st.lists(st.sampled_from(sorted(_FIELDS)), max_size=5, unique=True))
    found: dict[str, Any] = {name: draw(_FIELDS[name]) for name in names}
    found |= draw(st.dictionaries(st.text(min_size=1, max_size=6), json_values(leaves=3), max_size=2))
    found["model"] = draw(st.sampled_from(["sim-model", "sim-model", "", "vendor/model:free", None, 4, "モデル"]))
    found["messages"] = draw(any_rows(most=3) | any_rows(most=3) | _loose_rows())
    order = draw(st.permutations(sorted(found, key=repr)))
    return {name: found[name] for name in order}


def chat_bodies() -> st.SearchStrategy[bytes]:
    """
    Return bodies that a client posts as a chat request, most of them well formed.
    """
    written = odd_json(_requests())
    cut = st.builds(lambda body, size: body[: len(body) * size // 100], written, st.integers(0, 99))
    marked = written.map(lambda body: b"\xef\xbb\xbf" + body)
    deep = st.integers(1, 3_000).map(lambda depth: b'{"model":"m","messages":' + b"[" * depth + b"]" * depth + b"}")
    return st.one_of(
        written, written, written, written, odd_json(json_values()), cut, marked, deep, st.binary(max_size=60)
    )
