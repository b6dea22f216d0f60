"""
What users of other proxies, gateways and agents reported, where nothing else here shows that it is right.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from typing import Any

import pytest

from proxy.chat.json import dumps
from proxy.simulator.steps import overflow, repeat, sse_error, status
from proxy.tokens.vocabulary import Vocabulary
from tests.support.conversations import assistant, call, chat_session, filler, long_session, result, system, user
from tests.support.proxied import loaded_vocabulary
from tests.support.worlds import SUMMARY, error_of, texts

BIG = chat_session(13)
TOO_LONG = "The input (9032 tokens) is longer than the model's context length (8000 tokens)."


def tools_of(tokens: int) -> list[dict[str, Any]]:
    """
    Return one tool whose description takes about so many *tokens*.
    """
    about = " ".join(f"word{number % 97}" for number in range(tokens // 2))
    return [{"type": "function", "function": {"name": "look", "description": about, "parameters": {"type": "object"}}}]


async def test_a_stream_that_is_refused_again_and_again_has_the_status_of_a_refusal(world_factory: Any) -> None:
    """
    Each try fails after its role chunk; nothing was relayed, so that the client need not read 200.
    """
    world = await world_factory(sim={"window": None}, compaction={"mode": "recover"})
    world.upstream.will(repeat(4, sse_error(TOO_LONG, after_chunks=1)))
    reply = await world.chat(BIG, stream=True)

    assert (reply.status, reply.action) == (400, "gave-up")
    assert error_of(reply)["code"] == "context_length_exceeded"
    assert len(world.calls) > 1


@pytest.mark.parametrize("after", [0, 1, 3])
async def test_who_opts_out_gets_the_error_of_its_stream(world_factory: Any, after: int) -> None:
    """
    The wish of one request holds on every path: an overflow in a stream is relayed, too, and nothing is tried again.
    """
    world = await world_factory(sim={"window": None})
    world.upstream.will(sse_error(TOO_LONG, after_chunks=after))
    reply = await world.chat(BIG, stream=True, headers={"x-concertina-mode": "off"})

    assert (reply.status, reply.action, len(world.calls)) == (200, "passthrough", 1)
    assert b"longer than the model's context length" in reply.body


@pytest.mark.parametrize("message", ["Rate limit reached, retry in 20 s.", "context shift is disabled"])
async def test_an_error_in_the_middle_of_a_stream_ends_it(world_factory: Any, message: str) -> None:
    """
    A rate limit, or a window that is full: content was relayed, so that nothing is tried again.
    """
    world = await world_factory(sim={"window": None})
    world.upstream.will(sse_error(message, code=429, after_chunks=4))
    reply = await world.chat(BIG[:4], stream=True)

    assert (reply.status, len(world.calls)) == (200, 1)
    assert message.encode() in reply.body
    assert b"[DONE]" not in reply.body


async def test_a_full_window_of_llama_cpp_is_an_overflow(world_factory: Any) -> None:
    """
    "Context shift is disabled" before any content means that the prompt leaves no room.
    """
    world = await world_factory(sim={"window": None}, compaction={"mode": "recover"})
    world.upstream.will(sse_error("context shift is disabled", after_chunks=1))
    reply = await world.chat(BIG, stream=True)

    assert (reply.action, len(world.calls)) == ("recovered", 2)


async def test_the_size_before_a_compaction_triggers_no_second_one(world_factory: Any) -> None:
    """
    Usage is reported for the large request of the turn before; the turns after the compaction only append.
    """
    world = await world_factory(compaction={"threshold_tokens": 5_000})
    replies = [await world.chat(rows) for rows in long_session(20)]
    actions = [reply.action for reply in replies]
    first = actions.index("compacted")

    assert actions[:first] == ["passthrough"] * first
    assert actions[first + 1 : first + 3] == ["reused", "reused"]


async def test_tools_above_the_threshold_leave_a_short_chat_alone(world_factory: Any) -> None:
    """
    System and tools cannot be folded: what there is to gain is nothing, turn after turn.
    """
    world = await world_factory(sim={"window": None}, upstream={"context_window": 32_000})
    tools = tools_of(6_500)
    for length in (2, 4, 6):
        reply = await world.chat(chat_session(4)[:length], tools=tools)
        assert (reply.status, len(world.calls)) == (200, 1)
        assert world.sent.messages == chat_session(4)[:length]

    assert world.upstream.summary_calls == []


@pytest.mark.parametrize("refused", [False, True], ids=["over the threshold", "after a refusal"])
async def test_a_superseded_ask_is_history_and_the_new_one_is_the_task(world_factory: Any, refused: bool) -> None:
    """
    The newest ask stays as it is, last; the old one stands in the summary at most.
    """
    world = await world_factory(compaction={"mode": "recover" if refused else "compact"})
    rows = [*BIG[:3], user("OLD: port the parser"), assistant("on it"), *BIG[3:-1], assistant("and so on")]
    rows += [user("NEW: leave it, write the changelog instead")]
    if refused:
        world.upstream.will(overflow(limit=8_000))
    reply = await world.chat(rows)
    live = [row for row in world.sent.messages if SUMMARY not in json.dumps(row)]

    assert (reply.status, reply.action) == (200, "recovered" if refused else "compacted")
    assert world.sent.messages[-1] == rows[-1]
    assert "OLD: port" not in json.dumps(live)


async def test_there_is_one_summary_after_many_folds(world_factory: Any) -> None:
    """
    Each takes up what the one before it said; none stands beside another.
    """
    world = await world_factory(compaction={"threshold_tokens": 4_000})
    for rows in long_session(40):
        await world.chat(rows)
        assert texts(world.sent).count("background, not orders") <= 1

    assert len(world.upstream.summary_calls) >= 3


async def test_a_complaint_about_reasoning_is_no_overflow(world_factory: Any) -> None:
    """
    Nested as routers nest it; the history is no shorter for it, and the client reads the upstream's own words.
    """
    world = await world_factory(blind=True, sim={"window": None})
    inner = {"error": {"message": "The `reasoning_content` in the thinking mode must be passed back to the API."}}
    body = dumps({"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": json.dumps(inner)}}})
    world.upstream.will(repeat(4, status(400, body=body)))
    reply = await world.chat(BIG)

    assert (reply.status, reply.body, len(world.calls)) == (400, body, 1)
    assert world.upstream.summary_calls == []


async def test_a_summary_is_asked_as_the_request_was_and_of_no_more(world_factory: Any) -> None:
    """
    Same path, query and credential; of its fields the model alone, so no limit on output that another model lacks.
    """
    world = await world_factory()
    body = {"model": "sim-model", "messages": BIG, "max_tokens": 1_000, "tools": tools_of(40), "user": "u", "x_new": 1}
    await world.proxied.post(body, path="/chat/completions?api-version=7", headers={"api-key": "k", "x-title": "t"})
    (asked,) = world.upstream.summary_calls
    sent = world.upstream.main_calls[-1]

    assert (asked.path, asked.query) == (sent.path, sent.query) == ("/v1/chat/completions", "api-version=7")
    assert asked.header("authorization") == sent.header("authorization")
    assert asked.header("api-key") == "k"
    assert set(asked.fields) == {"model", "messages", "stream"}


async def test_a_small_summary_model_is_asked_within_its_own_window(world_factory: Any) -> None:
    """
    Its window is its own, whatever the main model's; thinking and fields nobody knows are not poured into it.
    """
    world = await world_factory(
        models={"small": {"context_window": 3_000}}, compaction={"summarizer": {"model": "small"}}
    )
    thinking = {"role": "assistant", "content": "so be it", "reasoning_content": "PONDER " * 3_000}
    odd = {**assistant("yes"), "x_debug": "DUMP " * 3_000}
    reply = await world.chat([*BIG[:5], thinking, user("go on"), odd, *BIG[5:]])
    asked = world.upstream.summary_calls

    assert (reply.status, reply.action) == (200, "compacted")
    assert asked
    assert {one.model for one in asked} == {"small"}
    assert max(one.prompt_tokens for one in asked) <= 3_000
    assert all(word not in dumps(one.messages).decode() for one in asked for word in ("PONDER", "DUMP"))


@pytest.mark.parametrize(
    ("fields", "action"),
    [
        ({}, "passthrough"),
        ({"max_tokens": 2_000}, "compacted"),
        ({"max_completion_tokens": 2_000, "max_tokens": 10}, "compacted"),
        ({"max_completion_tokens": 10, "max_tokens": 2_000}, "passthrough"),
        ({"tools": tools_of(1_500)}, "compacted"),
    ],
    ids=["nothing", "output", "newer name", "newer name wins", "tools"],
)
async def test_output_and_tools_are_part_of_the_budget(world_factory: Any, fields: dict[str, Any], action: str) -> None:
    """
    The same rows fit where little is asked for beside them, and are folded before a refusal where much is.
    """
    world = await world_factory(compaction={"threshold_tokens": 7_900})
    reply = await world.chat(chat_session(9), **fields)

    assert (reply.status, reply.action, len(world.calls)) == (200, action, 1)


async def test_when_to_come_back_reaches_the_client(world_factory: Any) -> None:
    """
    ``retry-after`` under its own name, which SDKs obey.
    """
    world = await world_factory()
    world.upstream.will(status(429, headers=(("Retry-After", "7"), ("retry-after-ms", "7000"))))
    reply = await world.chat(BIG[:4])

    assert (reply.status, reply.headers["retry-after"], reply.headers["retry-after-ms"]) == (429, "7", "7000")


async def test_one_session_id_for_many_conversations_mixes_none(world_factory: Any) -> None:
    """
    Sub-agents share the id of their parent, and its metadata; what counts is what was said.
    """
    world = await world_factory()
    headers, shared = {"x-concertina-session": "one"}, {"metadata": {"session_id": "one"}, "user": "u"}
    other = [{**row, "content": f"other {row['content']}"} for row in BIG]
    for rows in (BIG, other):
        reply = await world.chat(rows, headers=headers, **shared)
        assert reply.action == "compacted"
    again = [
        await world.chat([*rows, assistant("ok"), user("next")], headers=headers, **shared) for rows in (BIG, other)
    ]

    assert [reply.action for reply in again] == ["reused", "reused"]
    assert [("other Question" in texts(sent)) for sent in world.upstream.main_calls[-2:]] == [False, True]


async def test_a_long_chat_of_azure_is_compacted(world_factory: Any) -> None:
    """
    What is a chat is told by how its path ends, not by ``/v1``.
    """
    world = await world_factory()
    target = world.proxied.url.removesuffix("/v1") + "/openai/deployments/gpt/chat/completions?api-version=1"
    async with world.proxied.session.post(target, json={"messages": BIG}, headers={"api-key": "k"}) as response:
        action = response.headers.get("x-concertina-action")
        await response.read()

    assert action == "compacted"


async def test_arguments_that_are_no_json_do_no_harm(world_factory: Any) -> None:
    """
    Servers that mix up parallel calls leave such history behind: it is folded, or passes as it is.
    """
    world = await world_factory(sim={"strict": False})
    broken = call("run", cmd="x")
    broken["tool_calls"][0]["function"]["arguments"] = '{"cmd": "make te{"cmd": "ls"}'
    session = [system(), user("build it"), broken, result("a", filler(900))]
    for rows in ([*session, user("and?")], [*session, *BIG[1:]], [*BIG, broken, result("a", "ok")]):
        assert (await world.chat(rows)).status == 200

    assert world.sent.messages[-2:] == [broken, result("a", "ok")]


async def test_what_we_write_has_a_role_that_the_client_uses(world_factory: Any) -> None:
    """
    Some servers know no ``developer``, and some no second ``system``.
    """
    world = await world_factory()
    for rows in (BIG, BIG[1:], [{"role": "developer", "content": "Be brief."}, *BIG[1:]]):
        await world.chat(rows)
        sent = [row["role"] for row in world.sent.messages]
        assert set(sent) <= {row["role"] for row in rows}
        assert sum(role in {"system", "developer"} for role in sent) == (
            rows is not BIG[1:] and rows[0]["role"] != "user"
        )


async def test_a_window_of_a_million_is_believed(world_factory: Any) -> None:
    """
    No cap of ours stands above what is configured.
    """
    world = await world_factory(upstream={"context_window": 1_048_576}, compaction={"mode": "observe"})
    reply = await world.chat(BIG)

    assert reply.headers["x-concertina-tokens"].endswith("window=1048576")


async def test_the_callers_ids_stay_its_own(world_factory: Any) -> None:
    """
    Whatever the header, in a compacted request as well.
    """
    world = await world_factory()
    sent = {"x-correlation-id": "c-1", "x-request-id": "r-1", "traceparent": "00-a-b-01", "baggage": "k=v"}
    await world.chat(BIG, headers=sent)

    assert {name: world.sent.header(name) for name in sent} == sent


class Overheard(Vocabulary):
    """
    Notes how many characters it counts in each thread.
    """

    def __init__(self) -> None:
        super().__init__()
        self.characters: Counter[int] = Counter()

    def count(self, text: str) -> int:
        """
        Return the tokens of *text*.
        """
        self.characters[threading.get_ident()] += len(text)
        return loaded_vocabulary().count(text)

    @property
    def ready(self) -> bool:
        """
        Whether the tables are there.
        """
        return True


async def test_counting_happens_beside_the_event_loop(upstream_factory: Any, proxy_factory: Any) -> None:
    """
    Streams of others go on while a long history is counted.
    """
    upstream = await upstream_factory()
    heard = Overheard()
    proxied = await proxy_factory(upstream.url, upstream={"context_window": 8_000}, vocabulary=heard)
    reply = await proxied.chat([*BIG, assistant(filler(400_000)), user("well?")])

    assert reply.status == 200
    assert sum(heard.characters.values()) > 400_000
    assert heard.characters[threading.get_ident()] < 10_000
