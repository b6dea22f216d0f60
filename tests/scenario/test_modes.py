"""
Modes, by settings and by header; force; focus; requests that are left alone.
"""

from typing import Any

import pytest

from tests.support.conversations import chat_session, system, tool_schema, user
from tests.support.worlds import SUMMARY, WINDOW, error_of, texts

BIG = chat_session(16)
"""Does not fit the window."""
OVER = chat_session(9)
"""Above the threshold, within the window."""
SMALL = chat_session(3)
WAYS = pytest.mark.parametrize("way", ["settings", "header"])
INSTRUCTION = "Please summarize the conversation above so that work can go on from it. " + "Keep every detail. " * 30


async def ask(world_factory: Any, way: str, mode: str, rows: Any, **fields: Any) -> Any:
    """
    Send *rows* once in *mode* and return the world and the reply.
    """
    world = await world_factory(compaction={"mode": mode} if way == "settings" else {})
    headers = {"x-concertina-mode": mode} if way == "header" else {}
    return world, await world.chat(rows, headers=headers, **fields)


@WAYS
async def test_off_forwards_and_never_recovers(world_factory: Any, way: str) -> None:
    """
    In mode off the upstream's refusal is the answer.
    """
    world, reply = await ask(world_factory, way, "off", BIG)

    assert (reply.status, reply.action, len(world.calls)) == (400, "passthrough", 1)
    assert "maximum context length" in error_of(reply)["message"]
    assert "x-concertina-tokens" not in reply.headers


@WAYS
@pytest.mark.parametrize(("rows", "would"), [(SMALL, "untouched"), (OVER, "compacted"), (BIG, "compacted")])
async def test_observe_counts_and_changes_nothing(world_factory: Any, way: str, rows: Any, would: str) -> None:
    """
    Counted tokens and what would have been done, on the client's own bytes.
    """
    world, reply = await ask(world_factory, way, "observe", rows)

    counted = dict(pair.split("=") for pair in reply.headers["x-concertina-tokens"].split(";"))
    assert (reply.action, reply.headers["x-concertina-would"], len(world.calls)) == ("observed", would, 1)
    assert world.sent.messages == rows
    assert counted["before"] == counted["after"]
    assert counted["window"] == str(WINDOW)
    assert world.upstream.summary_calls == []


@pytest.mark.parametrize(
    "fields", [{"max_tokens": 1}, {"previous_response_id": "r-1"}, {"transforms": ["middle-out"]}, {}]
)
async def test_observe_counts_what_is_left_alone_too(world_factory: Any, fields: Any) -> None:
    """
    Observe mode always tells the size.
    """
    rows = SMALL if fields else [*SMALL[:-1], user(INSTRUCTION)]
    _, reply = await ask(world_factory, "settings", "observe", rows, **fields)

    assert reply.headers["x-concertina-tokens"].startswith("before=")
    assert reply.headers["x-concertina-would"] == "untouched"


@WAYS
async def test_recover_acts_after_a_refusal_alone(world_factory: Any, way: str) -> None:
    """
    Above the threshold nothing is done; a refusal is cured; the cure sticks to the conversation.
    """
    world, reply = await ask(world_factory, way, "recover", OVER)
    headers = {"x-concertina-mode": "recover"}
    cured = await world.chat(BIG, headers=headers)
    again = await world.chat(BIG, headers=headers)

    assert (reply.action, cured.action, again.action) == ("passthrough", "recovered", "reused")
    assert len(world.calls) == 1


@WAYS
async def test_compact_acts_before_a_refusal(world_factory: Any, way: str) -> None:
    """
    At the threshold the history is folded, and the upstream refuses nothing.
    """
    world, reply = await ask(world_factory, way, "compact", OVER)

    assert (reply.status, reply.action, len(world.calls)) == (200, "compacted", 1)


async def test_the_header_beats_the_settings(world_factory: Any) -> None:
    """
    A request may opt out, and in.
    """
    world = await world_factory(compaction={"mode": "off"})
    opted_in = await world.chat(OVER, headers={"X-Concertina-Mode": "COMPACT"})
    plain = await world.chat(OVER)

    assert (opted_in.action, plain.action) == ("compacted", "passthrough")


async def test_an_unknown_mode_is_ignored(world_factory: Any) -> None:
    """
    A typo never fails a request.
    """
    world = await world_factory()
    reply = await world.chat(OVER, headers={"x-concertina-mode": "harder"})

    assert reply.action == "compacted"


async def test_force_compacts_below_the_threshold(world_factory: Any) -> None:
    """
    On demand, whatever the size; the next request resumes it.
    """
    world = await world_factory(compaction={"threshold_tokens": 7_000})
    rows = chat_session(7)
    forced = await world.chat(rows, headers={"x-concertina-force": "true"})
    after = await world.chat(rows)

    assert (forced.action, after.action) == ("compacted", "reused")


async def test_focus_reaches_the_summariser(world_factory: Any) -> None:
    """
    The topic stands in the summariser's prompt, and nowhere else.
    """
    world = await world_factory()
    await world.chat(OVER, headers={"x-concertina-focus": "the retry budget of the parser"})

    asked = world.upstream.summary_calls[0]
    assert "the retry budget of the parser" in texts(asked)
    assert "the retry budget of the parser" not in texts(world.sent)


@pytest.mark.parametrize(
    "fields",
    [
        {"previous_response_id": "resp-1"},
        {"conversation": "conv-1"},
        {"transforms": ["middle-out"]},
        {"context_management": {"edits": []}},
        {"plugins": [{"id": "context-compression"}]},
        {"max_tokens": 1},
    ],
)
async def test_exempt_requests_are_left_alone(world_factory: Any, fields: Any) -> None:
    """
    Where the upstream holds or folds the history itself, or only a probe is sent, nothing is touched.
    """
    world = await world_factory()
    reply = await world.chat(OVER, **fields)

    assert (reply.status, reply.action, world.sent.messages) == (200, "passthrough", OVER)
    assert world.upstream.summary_calls == []


async def test_a_clients_own_summary_call_is_left_alone(world_factory: Any) -> None:
    """
    The client folds its history itself: it must see all of it.
    """
    world = await world_factory()
    rows = [*OVER[:-1], user(INSTRUCTION)]
    reply = await world.chat(rows)

    assert (reply.action, world.sent.messages) == ("passthrough", rows)


async def test_a_user_who_asks_in_passing_is_no_summary_call(world_factory: Any) -> None:
    """
    "Summarize our conversation" in one line, or with tools at hand, is a turn like any other.
    """
    world = await world_factory()
    short = await world.chat([*OVER[:-1], user("summarize the conversation so far")])
    tooled = await world.chat([*OVER[:-1], user(INSTRUCTION)], tools=[tool_schema()])

    assert (short.action, tooled.action in {"compacted", "reused"}) == ("compacted", True)


@pytest.mark.parametrize("fields", [{"previous_response_id": "resp-1"}, {"max_tokens": 1}, None])
async def test_exempt_requests_are_recovered_when_they_overflow(world_factory: Any, fields: Any) -> None:
    """
    Left alone unless they overflow.
    """
    world = await world_factory()
    rows = BIG if fields else [*BIG[:-1], user(INSTRUCTION)]
    reply = await world.chat(rows, **(fields or {}))

    assert (reply.status, reply.action) == (200, "recovered")
    assert world.sent.prompt_tokens < WINDOW


async def test_the_window_engine_truncates_without_a_model(world_factory: Any) -> None:
    """
    The honest baseline: newest rows, and a line that says so.
    """
    world = await world_factory(compaction={"engine": "window"})
    reply = await world.chat(BIG)

    assert (reply.status, reply.action) == (200, "compacted")
    assert "Earlier turns are left out." in texts(world.sent)
    assert world.upstream.summary_calls == []


async def test_the_extractive_summariser_asks_no_model(world_factory: Any) -> None:
    """
    Without a model the originals' own lines are picked.
    """
    world = await world_factory(compaction={"summarizer": {"kind": "extractive"}})
    reply = await world.chat(BIG)

    assert (reply.status, reply.action, len(world.upstream.received)) == (200, "compacted", 1)
    assert SUMMARY not in texts(world.sent)


async def test_routes_have_modes_of_their_own(world_factory: Any) -> None:
    """
    Settings of a route lie over the defaults.
    """
    world = await world_factory(
        routes=[{"name": "quiet", "upstream": "sim", "match": {"model": "q-*"}, "compaction": {"mode": "observe"}}]
    )
    quiet = await world.chat(OVER, model="q-1")
    other = await world.chat(OVER)

    assert (quiet.action, other.action) == ("observed", "compacted")


async def test_a_system_prompt_alone_is_no_conversation(world_factory: Any) -> None:
    """
    A request without one row to fold passes, forced or not.
    """
    world = await world_factory(sim={"strict": False})
    reply = await world.chat([system()], headers={"x-concertina-force": "true"})

    assert (reply.status, reply.action) == (200, "passthrough")


async def test_a_mode_that_does_not_exist_is_told_and_ignored(world_factory: Any) -> None:
    """
    The request is answered as without it; what was asked is not repeated.
    """
    world = await world_factory()
    reply = await world.chat(SMALL, headers={"x-concertina-mode": "compct"})

    assert (reply.status, reply.action) == (200, "passthrough")
    assert reply.headers["x-concertina-warning"].startswith("x-concertina-mode was ignored")
    assert "compct" not in reply.headers["x-concertina-warning"]


async def test_force_compacts_far_below_the_threshold_and_the_next_turn_stays_compacted(
    upstream_factory: Any, proxy_factory: Any, exact_counter: Any
) -> None:
    """
    Whatever the size: what was asked for once holds for the turns after it, which are no longer forced.
    """
    upstream = await upstream_factory(window=128_000, counter=exact_counter, summary_markers=("<record ",))
    proxied = await proxy_factory(upstream.url, upstream={"context_window": 128_000, "discover": False})
    rows = chat_session(20)
    forced = await proxied.chat(rows, headers={"x-concertina-force": "true"})
    first = upstream.main_calls[-1]
    grown = [*rows, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Go on."}]
    later = await proxied.chat(grown)

    assert (forced.action, later.action) == ("compacted", "reused")
    assert first.prompt_tokens < exact_counter.messages(rows) * 0.6
    assert upstream.main_calls[-1].messages[: len(first.messages)] == first.messages
