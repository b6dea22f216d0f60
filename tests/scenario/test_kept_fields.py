"""
Everything that chat requests may carry survives a compaction: on the rows that stay, and beside the rows.
"""

from typing import Any

import pytest

from proxy.chat.json import dumps, loads
from proxy.simulator.steps import raw
from tests.support.conversations import assistant, chat_session, result, system, tool_schema, user

BIG = chat_session(13)


def called(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """
    Return an assistant row that calls tools.
    """
    made = [
        {"id": f"c{number}", "type": "function", "function": {"name": "run", "arguments": "{}"}, **call}
        for number, call in enumerate(calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made, **fields}


SIGNATURE = {"extra_content": {"google": {"thought_signature": "CiQB" + "A+/=" * 40}}}
THINKING = [
    {"type": "thinking", "thinking": "let me see", "signature": "EqQB" + "x" * 80},
    {"type": "redacted_thinking", "data": "ENCRYPTED=="},
    {"type": "text", "text": "I see."},
]
ROWS: dict[str, list[dict[str, Any]]] = {
    "reasoning_content": [{**assistant("ok"), "reasoning_content": "step by step"}],
    "empty reasoning_content": [{**called({}), "reasoning_content": ""}, result("c0", "fine")],
    "reasoning": [{**assistant("ok"), "reasoning": "thoughts"}],
    "reasoning_details": [
        {**assistant("ok"), "reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAAA", "index": 0}]}
    ],
    "thought signature": [called(SIGNATURE), result("c0", "fine")],
    "thinking blocks": [{"role": "assistant", "content": THINKING}],
    "thinking_blocks of a gateway": [{**assistant("ok"), "thinking_blocks": THINKING[:2]}],
    "refusal": [{"role": "assistant", "content": None, "refusal": "I cannot help with that."}],
    "refusal part": [{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}],
    "audio": [{"role": "assistant", "content": None, "audio": {"id": "audio_abc123"}}],
    "name of an assistant": [{**assistant("ok"), "name": "planner"}],
    "cache_control on a part": [
        {"role": "assistant", "content": [{"type": "text", "text": "ok", "cache_control": {"type": "ephemeral"}}]}
    ],
    "cache_control with a time": [
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "ok", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        }
    ],
    "parallel tool calls": [called({}, {}, {}), result("c0", "one"), result("c2", "three"), result("c1", "two")],
    "tool result in parts": [
        called({}),
        {"role": "tool", "tool_call_id": "c0", "content": [{"type": "text", "text": "one"}]},
    ],
    "tool result with a name": [called({}), {**result("c0", "one"), "name": "run", "status": "success"}],
    "custom tool call": [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c0", "type": "custom", "custom": {"name": "code", "input": "print(1)"}}],
        },
        result("c0", "1"),
    ],
    "legacy function call": [
        {"role": "assistant", "content": None, "function_call": {"name": "run", "arguments": "{}"}},
        {"role": "function", "name": "run", "content": "fine"},
    ],
    "prefix flag": [{**assistant("ok"), "prefix": True}],
    "annotations": [
        {**assistant("ok"), "annotations": [{"type": "url_citation", "url_citation": {"url": "https://x"}}]}
    ],
    "a field of tomorrow": [{**assistant("ok"), "x_tomorrow": {"deep": [1, {"a": None}]}, "_private": 1}],
}
LAST: dict[str, dict[str, Any]] = {
    "name of a user": {**user("and now?"), "name": "alice"},
    "image": {
        "role": "user",
        "content": [
            {"type": "text", "text": "and now?"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
        ],
    },
    "input audio": {
        "role": "user",
        "content": [
            {"type": "text", "text": "and now?"},
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        ],
    },
    "file": {
        "role": "user",
        "content": [{"type": "text", "text": "and now?"}, {"type": "file", "file": {"file_id": "file-abc"}}],
    },
}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": {"type": "object"}}}
FIELDS: dict[str, dict[str, Any]] = {
    "n": {"n": 3},
    "logprobs": {"logprobs": True, "top_logprobs": 5},
    "response_format": {"response_format": SCHEMA},
    "stream_options": {"stream": True, "stream_options": {"include_usage": True, "include_obfuscation": False}},
    "refused usage": {"stream": True, "stream_options": {"include_usage": False}},
    "store and metadata": {"store": True, "metadata": {"user": "u-1", "run": "7"}},
    "prompt_cache_key": {"prompt_cache_key": "abc", "prompt_cache_retention": "24h", "safety_identifier": "s"},
    "tool_choice": {
        "tools": [tool_schema()],
        "tool_choice": {"type": "function", "function": {"name": "read_file"}},
        "parallel_tool_calls": False,
    },
    "functions": {"functions": [tool_schema()["function"]], "function_call": {"name": "read_file"}},
    "prediction": {"prediction": {"type": "content", "content": "def f():\n    pass\n"}},
    "sampling": {"seed": 7, "stop": ["\n\n"], "temperature": 0.0, "top_p": 1, "logit_bias": {"50256": -100}},
    "service": {"service_tier": "flex", "user": "u", "verbosity": "low", "reasoning_effort": "high"},
    "audio out": {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}},
    "web search": {"web_search_options": {"search_context_size": "low"}},
    "a provider's": {"provider": {"order": ["a"]}, "chat_template_kwargs": {"enable_thinking": False}, "min_p": 0.1},
}


async def compacted(world_factory: Any, rows: list[dict[str, Any]], **fields: Any) -> Any:
    """
    Send rows that are over the threshold, and return what reached the upstream.
    """
    world = await world_factory(sim={"strict": False})
    reply = await world.post({"model": "sim-model", **fields, "messages": rows})
    assert (reply.status, reply.action) == (200, "compacted")
    return world.sent


@pytest.mark.parametrize("name", ROWS)
async def test_a_row_that_stays_keeps_its_field(world_factory: Any, name: str) -> None:
    """
    The rows before the last question come through as the very bytes.
    """
    kept = ROWS[name]
    sent = await compacted(world_factory, [*BIG, *kept, user("and now?")])

    assert dumps([*kept, user("and now?")])[1:-1] in sent.body
    assert sent.messages[-len(kept) - 1 : -1] == kept


@pytest.mark.parametrize("name", LAST)
async def test_the_last_question_keeps_its_parts(world_factory: Any, name: str) -> None:
    """
    Whatever it is made of; notes on what was folded may stand in front of them.
    """
    sent = await compacted(world_factory, [*BIG, assistant("ok"), LAST[name]])

    content, got = LAST[name]["content"], sent.messages[-1]["content"]
    assert {**sent.messages[-1], "content": content} == LAST[name]
    assert got == content or got[-len(content) :] == content


@pytest.mark.parametrize("name", FIELDS)
async def test_a_field_beside_the_rows_is_kept(world_factory: Any, name: str) -> None:
    """
    With its very bytes, and its place.
    """
    sent = await compacted(world_factory, BIG, **FIELDS[name])

    assert list(loads(sent.body)) == ["model", *FIELDS[name], "messages"]
    assert sent.body.startswith(dumps({"model": "sim-model", **FIELDS[name]})[:-1])


async def test_a_systems_cache_mark_stays_where_it_is(world_factory: Any) -> None:
    """
    The mark that providers cache the system prompt by.
    """
    marked = {
        "role": "system",
        "content": [{"type": "text", "text": system()["content"], "cache_control": {"type": "ephemeral"}}],
    }
    sent = await compacted(world_factory, [marked, *BIG[1:]])

    assert sent.messages[0] == marked


async def test_several_choices_are_relayed_as_they_come(world_factory: Any) -> None:
    """
    With n over one, in a stream as well; the bytes are the upstream's.
    """
    world = await world_factory(sim={"strict": False})
    frames = tuple(
        b'data: {"choices":[{"index":%d,"delta":{"content":"%d"},"logprobs":null}]}\n\n' % (index, index)
        for index in (0, 1, 1, 0)
    )
    world.upstream.will(raw(headers=(("content-type", "text/event-stream"),), chunks=(*frames, b"data: [DONE]\n\n")))
    reply = await world.chat(BIG[:4], n=2, stream=True)

    assert reply.body == b"".join(frames) + b"data: [DONE]\n\n"
