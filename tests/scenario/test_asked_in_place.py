"""
``summarizer.in_place``: the summary is asked for within the conversation itself, so that the upstream reads its cache.
"""

from __future__ import annotations

from typing import Any

import pytest

from proxy.chat.json import dumps
from proxy.simulator.received import Received
from proxy.simulator.steps import answer, repeat, tool_call, when
from tests.support.conversations import agent_session, chat_session
from tests.support.worlds import texts

TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}]
SUMMARY = "## Progress\n### Done\n- Part 3 of src/part_3.py was read, and the failing test was found to need port 4711."
IN_PLACE = "Write these notes now, in place of an answer"


def is_summary(received: Received) -> bool:
    """
    Tell a summariser call by its last row.
    """
    last = str(received.messages[-1].get("content")) if received.messages else ""
    return IN_PLACE in last or "<record " in last


async def world_in_place(world_factory: Any, **compaction: Any) -> Any:
    """
    Start a world that asks in place, and a simulator that knows such calls.
    """
    summarizer = {"kind": "llm", "in_place": True, **compaction.pop("summarizer", {})}
    sim = {"window": 22_000, "is_summary": is_summary, "summary_markers": ()}
    return await world_factory(
        sim=sim, upstream={"context_window": 22_000}, compaction={"summarizer": summarizer, **compaction}
    )


def grown(rows: list[Any], rounds: int) -> list[Any]:
    """
    Return a conversation that went on.
    """
    return [*rows, {"role": "assistant", "content": "ok"}, *agent_session(rounds, ask="and now the next part")[1:]]


async def test_asks_within_the_conversation_as_it_was_sent(world_factory: Any) -> None:
    """
    Same model, system row and tools, the rows in the very bytes of the last request, and one row more.
    """
    world = await world_in_place(world_factory)
    before, rows = chat_session(6), chat_session(14)
    assert rows[: len(before)] == before
    await world.chat(before, tools=TOOLS, temperature=0.3)
    last = world.sent
    reply = await world.chat(rows, tools=TOOLS, temperature=0.3)
    (asked,) = world.upstream.summary_calls

    assert (reply.status, reply.action) == (200, "compacted")
    assert [dumps(row) for row in asked.messages[: len(last.messages)]] == [dumps(row) for row in last.messages]
    assert asked.messages[:-1] == rows
    assert asked.messages[-1]["role"] == "user"
    assert (asked.model, asked.fields["tools"], asked.fields["tool_choice"]) == ("sim-model", TOOLS, "none")
    assert set(asked.fields) == {"model", "messages", "stream", "tools", "tool_choice"}
    assert asked.cached_tokens >= last.cached_tokens + last.prompt_tokens // 2


async def test_the_next_summary_is_asked_within_the_folded_conversation(world_factory: Any) -> None:
    """
    The rows that are in force: the summary before it, the tail, and what came since.
    """
    world = await world_in_place(world_factory)
    rows = agent_session(13)
    await world.chat(rows, tools=TOOLS)
    folded = world.sent.messages
    rows = grown(rows, 9)
    reply = await world.chat(rows, tools=TOOLS)
    asked = world.upstream.summary_calls[-1]

    assert (reply.action, len(world.upstream.summary_calls)) == ("compacted", 2)
    assert asked.messages[: len(folded)] == folded
    assert asked.messages[-2] == rows[-1]


@pytest.mark.parametrize(
    "bad",
    [
        answer(""),
        tool_call("read_file", {"path": "x"}),
        answer("I'm sorry, but I can't help."),
        answer("x", finish="length"),
    ],
    ids=["empty", "calls a tool", "refuses", "is cut"],
)
async def test_the_same_guards_hold(world_factory: Any, bad: Any) -> None:
    """
    A bad answer is asked for again by a transcript, and leaves no trace.
    """
    world = await world_in_place(world_factory)
    world.upstream.will(when(bad, summary=True), when(answer(SUMMARY), summary=True))
    reply = await world.chat(agent_session(13), tools=TOOLS)
    first, second = world.upstream.summary_calls

    assert (reply.status, reply.action) == (200, "compacted")
    assert IN_PLACE in texts(first)
    assert "<record " in texts(second)
    assert "tools" not in second.fields
    assert "port 4711" in texts(world.sent)
    assert "can't help" not in texts(world.sent)


async def test_a_transcript_is_read_where_the_conversation_does_not_fit(world_factory: Any) -> None:
    """
    A history attached late is larger than the window.
    """
    world = await world_in_place(world_factory)
    await world.chat(agent_session(40), tools=TOOLS)

    assert all("<record " in texts(call) for call in world.upstream.summary_calls)
    assert world.upstream.summary_calls


@pytest.mark.parametrize(
    ("rows", "fields", "settings"),
    [
        (agent_session(13), {"response_format": {"type": "json_object"}}, {}),
        ([*agent_session(13), {"role": "user", "content": "and now?"}], {}, {"roles": "strict"}),
    ],
    ids=["an answer in JSON is asked for", "another user row would break the roles"],
)
async def test_a_transcript_is_read_where_nothing_can_be_asked_at_the_end(
    world_factory: Any, rows: list[Any], fields: dict[str, Any], settings: dict[str, Any]
) -> None:
    """
    Then the transcript serves, as without the setting.
    """
    world = await world_in_place(world_factory, **settings)
    await world.chat(rows, tools=TOOLS, **fields)
    (asked,) = world.upstream.summary_calls

    assert "<record " in texts(asked)


async def test_a_summary_from_the_originals_is_not_asked_in_place(world_factory: Any) -> None:
    """
    In the folded conversation the originals are not there to be read again.
    """
    world = await world_in_place(world_factory, rederive_depth=1)
    rows = agent_session(13)
    await world.chat(rows, tools=TOOLS)
    await world.chat(grown(rows, 9), tools=TOOLS)
    first, second = world.upstream.summary_calls

    assert IN_PLACE in texts(first)
    assert "<record " in texts(second)


async def test_focus_and_rules_of_the_operator_reach_the_row(world_factory: Any) -> None:
    """
    As they reach the transcript's prompt; the failing model is asked no more often than allowed.
    """
    world = await world_in_place(world_factory, summarizer={"instructions": "Name every port.", "max_calls": 1})
    world.upstream.will(repeat(3, when(answer(""), summary=True)))
    await world.chat(chat_session(14), headers={"x-concertina-focus": "the retry budget", "x-concertina-force": "true"})
    (asked,) = world.upstream.summary_calls

    assert "the retry budget" in str(asked.messages[-1])
    assert str(asked.messages[-1]["content"]).endswith("Name every port.")
