"""
Odd shapes of requests: what is not understood passes, what is kept stays the client's own bytes.
"""

from typing import Any

import pytest

from proxy.chat.json import dumps, loads
from tests.support.conversations import (
    agent_session,
    assistant,
    call,
    calls,
    chat_session,
    developer,
    filler,
    image,
    result,
    system,
    tool_schema,
    user,
)
from tests.support.worlds import SUMMARY, THRESHOLD, error_of, texts

BIG = chat_session(13)


async def test_one_ask_and_60_tool_rounds(world_factory: Any) -> None:
    """
    A single user row with 60 tool rounds after it is folded; the ask stays and no result loses its call.
    """
    world = await world_factory(sim={"alternation": "on"})
    rows = agent_session(60)
    reply = await world.chat(rows)

    assert (reply.status, reply.action) == (200, "compacted")
    assert rows[1]["content"] in texts(world.sent)
    assert world.sent.prompt_tokens < THRESHOLD
    assert world.sent.introduced(rows) == {}


async def test_interleaved_conversations_keep_apart(world_factory: Any) -> None:
    """
    Two conversations with one system prompt, turn by turn in between: each resumes its own summary.
    """
    world = await world_factory()
    one, two = chat_session(40), chat_session(40)
    for row in two[1:]:
        row["content"] = "other " + row["content"]
    for length in range(30, 40, 2):
        for rows in (one, two):
            await world.chat(rows[: length + 2])

    first, second = world.upstream.main_calls[-2:]
    assert ("other Question" in texts(first), "other Question" in texts(second)) == (False, True)
    assert len(world.upstream.summary_calls) == 2


async def test_a_tool_result_larger_than_the_window(world_factory: Any) -> None:
    """
    The newest result alone is larger than the window: it is cut inside, head and tail kept.
    """
    world = await world_factory(sim={"alternation": "on"})
    rows = [
        system(),
        user("read it"),
        call("read_file", path="big.log"),
        result("a", "BEGIN " + filler(90_000) + " END"),
    ]
    reply = await world.chat(rows)

    kept = world.sent.messages[-1]["content"]
    assert reply.status == 200
    assert (kept.startswith("BEGIN "), kept.endswith(" END"), "left out" in kept) == (True, True, True)
    assert world.sent.introduced(rows) == {}


@pytest.mark.parametrize(
    "content",
    [
        "plain",
        [{"type": "text", "text": "part"}],
        ["bare", "strings"],
        None,
        {"type": "text", "text": "alone"},
        7,
        [],
    ],
    ids=["str", "parts", "strings", "null", "object", "number", "empty"],
)
async def test_content_of_any_type_survives_where_it_is_kept(world_factory: Any, content: Any) -> None:
    """
    An assistant row with odd content reaches the upstream as it was, in a request that is compacted.
    """
    world = await world_factory(sim={"strict": False})
    rows = [*BIG, {"role": "assistant", "content": content}, user("and now?")]
    reply = await world.chat(rows)

    assert (reply.status, reply.action) == (200, "compacted")
    assert {"role": "assistant", "content": content} in world.sent.messages


@pytest.mark.parametrize(
    "content", [[{"type": "text", "text": "part"}], ["bare"], None, {"type": "text", "text": "x"}, 7, []]
)
async def test_content_of_any_type_can_be_folded(world_factory: Any, content: Any) -> None:
    """
    Odd content in the folded middle fails nothing.
    """
    world = await world_factory(sim={"strict": False})
    rows = [*BIG[:9], {"role": "user", "content": content}, {"role": "assistant", "content": content}, *BIG[9:]]
    reply = await world.chat(rows)

    assert (reply.status, reply.action) == (200, "compacted")


async def test_legacy_function_roles(world_factory: Any) -> None:
    """
    function_call and role function are pairs as well: kept whole in the tail, folded whole in the middle.
    """
    world = await world_factory(sim={"alternation": "on"})
    rounds = []
    for number in range(40):
        arguments = dumps({"path": f"src/part_{number}.py"}).decode()
        rounds.append(
            {"role": "assistant", "content": None, "function_call": {"name": "read_file", "arguments": arguments}}
        )
        rounds.append({"role": "function", "name": "read_file", "content": filler(1_500, seed=str(number))})
    rows = [system(), user("read all of it"), *rounds]
    reply = await world.chat(rows, functions=[tool_schema()["function"]])

    assert (reply.status, reply.action) == (200, "compacted")
    assert world.sent.messages[-2:] == rows[-2:]
    assert world.sent.introduced(rows) == {}


async def test_images_as_data_uris_never_reach_the_summariser(world_factory: Any) -> None:
    """
    Folded screenshots go; the newest stays where it is small enough; base64 is no text for a summary.
    """
    world = await world_factory()
    rows = [system(), image("first look"), assistant("I see"), *BIG[1:], assistant("go on"), image("and this?")]
    reply = await world.chat(rows)

    assert (reply.status, reply.action) == (200, "compacted")
    assert world.sent.messages[-1]["content"][-1] == rows[-1]["content"][-1]
    assert all(b"iVBORw0KGgo" not in asked.body for asked in world.upstream.summary_calls)


async def test_a_developer_row_leads(world_factory: Any) -> None:
    """
    A developer row in front is kept live as a system row is.
    """
    world = await world_factory()
    await world.chat([developer("Be brief."), *BIG[1:]])

    assert world.sent.messages[0] == developer("Be brief.")
    assert SUMMARY in texts(world.sent)


async def test_an_edited_last_message_reuses_the_summary(world_factory: Any) -> None:
    """
    A fork shares its ancestors: editing the last question costs no second summary.
    """
    world = await world_factory()
    await world.chat(BIG)
    before, asked = world.sent.messages, list(world.upstream.summary_calls)
    reply = await world.chat([*BIG[:-1], user("something else, then")])

    assert reply.action == "reused"
    assert world.sent.messages[:-1] == before[:-1]
    assert len(asked) == len(world.upstream.summary_calls)


@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "sim-model", "messages": [{"role": "user", "content": "x"}',
        b"not json at all",
        b"",
        b'"a string"',
        b"[1, 2]",
        b'{"model": "sim-model", "messages": []}',
        b'{"model": "sim-model", "messages": "hello"}',
        b'{"model": "sim-model", "messages": {"role": "user"}}',
        b'{"model": "sim-model", "messages": [1, "two", null]}',
        b'{"model": "sim-model"}',
        b'{"model": 7, "messages": [{"role": "user", "content": "x"}], "max_tokens": "many"}',
        b'{"model": "sim-model", "messages": [{}]}',
        b"[" * 20_000,
        b'{"model": "sim-model", "messages": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}',
        b'{"model": "' + b"m" * 5_000 + b'", "messages": [{"role": "user", "content": "x"}]}',
    ],
    ids=range(16),
)
async def test_what_is_not_understood_passes_untouched(world_factory: Any, body: bytes) -> None:
    """
    The upstream gets the very bytes, once, and the client the upstream's own answer.
    """
    world = await world_factory(sim={"strict": False})
    reply = await world.post(body)
    direct = await world.proxied.session.post(
        world.upstream.url + "/chat/completions", data=body, headers={"content-type": "application/json"}
    )

    first, second = world.upstream.received
    own = (await direct.read()).replace(b"-2", b"-1").partition(b"cached_tokens")[0]
    assert (first.body, second.body) == (body, body)
    assert (reply.status, reply.body.partition(b"cached_tokens")[0]) == (direct.status, own)


async def test_lone_surrogates_pass(world_factory: Any) -> None:
    """
    A body with half an emoji is forwarded as it came.
    """
    world = await world_factory(sim={"strict": False})
    body = b'{"model": "sim-model", "messages": [{"role": "user", "content": "caf\\ud83d \\u00e9"}]}'
    reply = await world.post(body)

    assert (reply.status, world.sent.body) == (200, body)


@pytest.mark.parametrize("place", ["kept", "folded", "everywhere"])
async def test_lone_surrogates_are_compacted_too(world_factory: Any, place: str) -> None:
    """
    Half an emoji in a row never stands in the way of a compaction; where the row stays, it stays.
    """
    world = await world_factory(sim={"strict": False})
    rows = [dict(row) for row in BIG]
    chosen = {"kept": [-1], "folded": [7], "everywhere": list(range(1, len(rows)))}[place]
    for index in chosen:
        rows[index]["content"] += " half \ud83d"
    reply = await world.chat(rows)

    assert (reply.status, reply.action) == (200, "compacted")
    assert (b"half \\ud83d" in world.sent.body) == (place != "folded")


async def test_duplicate_keys_pass_below_and_above_the_threshold(world_factory: Any) -> None:
    """
    Servers differ in which of two keys they take, so a body with one twice is never rewritten.
    """
    world = await world_factory(sim={"strict": False, "window": None})
    for rows in (BIG[:4], BIG):
        body = b'{"model": "a", "messages": %b, "model": "sim-model"}' % dumps(rows)
        reply = await world.post(body)

        assert (reply.status, world.sent.body) == (200, body)


async def test_kept_rows_and_other_fields_are_the_clients_own_bytes(world_factory: Any) -> None:
    """
    Spacing, escapes, number formats, unknown fields and their order survive in a spliced body.
    """
    world = await world_factory(sim={"strict": False})
    odd = b'{ "role":"assistant" ,"content" : "caf\\u00e9 \\/ ok", "x":1e400,"y" :12345678901234567890123, "z": 1.50 }'
    last = b'{"content":"and now?",   "role":"user","score": -0.0, "name":"b\\u006fb"}'
    head = b'{ "temperature": 1.0, "zeta" : [ 1,2 ,3e2 ],\n "messages" : '
    tail = b' , "model":"sim-model", "top_p":0.90 , "seed": 123456789012345678901234567890, "stop" :null }\n'
    body = head + b"[" + dumps(BIG)[1:-1] + b", " + odd + b" ,\n" + last + b" ]" + tail
    reply = await world.post(body)

    assert (reply.status, reply.action) == (200, "compacted")
    assert world.sent.body.startswith(head)
    assert world.sent.body.endswith(odd + b" ,\n" + last + b"]" + tail)


@pytest.mark.parametrize(
    "number", [b"NaN", b"-Infinity", b"1e999", b"9" * 400, b"0.1000000000000000055511151231257827"]
)
async def test_odd_numbers_survive_on_kept_rows(world_factory: Any, number: bytes) -> None:
    """
    Numbers that Python or orjson cannot hold are passed through a compaction untouched.
    """
    world = await world_factory(sim={"strict": False})
    last = b'{"role":"user","content":"and now?","score":' + number + b"}"
    body = (
        b'{"model":"sim-model","messages":['
        + dumps(BIG)[1:-1]
        + b',{"role":"assistant","content":"ok"},'
        + last
        + b"]}"
    )
    reply = await world.post(body)

    assert (reply.status, reply.action) == (200, "compacted")
    assert world.sent.body.endswith(last + b"]}")


async def test_a_prefill_stays_last(world_factory: Any) -> None:
    """
    A trailing assistant row is what the model continues: last and byte-exact.
    """
    world = await world_factory(sim={"alternation": "on"})
    rows = [*BIG, assistant('{"answer": ')]
    reply = await world.chat(rows)

    assert (reply.status, reply.action) == (200, "compacted")
    assert world.sent.messages[-1] == rows[-1]
    assert world.sent.introduced(rows) == {}


async def test_rows_without_any_user_text(world_factory: Any) -> None:
    """
    A conversation of tool rounds alone, without a user row, is compacted or passed, never broken.
    """
    world = await world_factory(sim={"strict": False})
    rows = [row for row in agent_session(40) if row["role"] != "user"]
    reply = await world.chat(rows)

    assert reply.status == 200
    assert world.sent.introduced(rows) == {}


async def test_two_thousand_tiny_messages(world_factory: Any) -> None:
    """
    Tokens count, not rows: many tiny rows are folded like few large ones.
    """
    world = await world_factory(sim={"alternation": "on"})
    rows = [system()]
    for number in range(1_000):
        rows += [user(f"n{number}"), assistant(f"ok {number}")]
    rows.append(user("how many were there?"))
    reply = await world.chat(rows)

    assert (reply.status, reply.action) == (200, "compacted")
    assert world.sent.prompt_tokens < THRESHOLD


async def test_parallel_calls_with_reused_ids(world_factory: Any) -> None:
    """
    Clients reuse call ids; pairs are matched within a round.
    """
    world = await world_factory(sim={"alternation": "on"})
    rows = [system(), user("read all")]
    for number in range(30):
        rows.append(calls(("read_file", "x", {"p": number}), ("run", "y", {"c": number})))
        rows += [result("y", filler(800, seed=f"y{number}")), result("x", filler(800, seed=f"x{number}"))]
    reply = await world.chat(rows)

    assert (reply.status, reply.action) == (200, "compacted")
    assert world.sent.introduced(rows) == {}


@pytest.mark.parametrize("known", [True, False], ids=["known window", "learned from the refusal"])
async def test_tools_alone_larger_than_the_window_give_up(world_factory: Any, known: bool) -> None:
    """
    Where system and tools alone fill the window no compaction helps: one clear 400, no rewriting, few calls.
    """
    world = await world_factory(blind=not known)
    tools = [tool_schema(f"tool_{n}", *(f"parameter_{n}_{p}" for p in range(20))) for n in range(80)]
    reply = await world.chat([system(), user("hello")], tools=tools)

    error = error_of(reply)
    assert (reply.status, reply.action, error["code"]) == (400, "gave-up", "context_length_exceeded")
    assert "maximum context length is 8000" in error["message"]
    assert len(world.calls) == 1


async def test_a_hermes_compaction_row_is_a_plain_user_row(world_factory: Any) -> None:
    """
    An agent that folds its own history sends its summary as a user row; it is kept or folded, never mistaken for an ask.
    """
    world = await world_factory(sim={"alternation": "on"})
    note = (
        "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted into the summary below. "
        "Treat it as background.\n## Goal\nMove the parser to src/new_parser.py\n--- END OF CONTEXT SUMMARY ---"
    )
    session = agent_session(30)
    rows = [session[0], user(note), assistant("understood"), user("fix the failing test in src/app.py"), *session[2:]]
    short = await world.chat(rows[:8])
    reply = await world.chat(rows)

    assert (short.action, reply.status, reply.action) == ("passthrough", 200, "compacted")
    assert "fix the failing test in src/app.py" in texts(world.sent)
    assert texts(world.sent).count("CONTEXT COMPACTION") <= 1
    assert world.sent.introduced(rows) == {}


async def test_an_unusual_role_passes(world_factory: Any) -> None:
    """
    A role nobody knows is a row like any other.
    """
    world = await world_factory(sim={"strict": False})
    rows = [*BIG, {"role": "critic", "content": "hm"}, user("and now?")]
    reply = await world.chat(rows)

    assert (reply.status, reply.action) == (200, "compacted")
    assert loads(world.sent.body)["messages"][-2:] == rows[-2:]


@pytest.mark.parametrize(("levels", "action"), [(30, "compacted"), (31, "passthrough"), (900, "passthrough")])
async def test_json_depth_says_what_is_looked_into(world_factory: Any, levels: int, action: str) -> None:
    """
    A body that is nested deeper than the limit is forwarded as it is, over the threshold too.
    """
    world = await world_factory(sim={"strict": False, "window": None}, limits={"json_depth": 30})
    deep = b"[" * (levels - 1) + b"]" * (levels - 1)
    body = b'{"model":"sim-model","messages":%b,"metadata":%b}' % (dumps(BIG), deep)
    reply = await world.post(body)

    assert (reply.status, reply.action, world.sent.body == body) == (200, action, action == "passthrough")
