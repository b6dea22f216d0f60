"""
A client that rewrites its old turns does not buy a summary a turn, and can be found.
"""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.conversations import Row, assistant, chat_session, user
from tests.support.worlds import SUMMARY, World, texts

BIG = chat_session(13)


def rewritten(turn: int, row: int = 1) -> list[Row]:
    """
    Return the history with a clock in one of its old rows, as some clients send it.
    """
    rows = [dict(each) for each in BIG]
    rows[row]["content"] = f"[now {turn}] " + rows[row]["content"]
    return [*rows, assistant("ok"), user(f"turn {turn}")]


@pytest.fixture
async def world(world_factory: Any) -> World:
    """
    A proxy that judges compactions at once.
    """
    world: World = await world_factory()
    habits_of(world)._judged_after = -1.0
    return world


def habits_of(world: World) -> Any:
    """
    Return the books of a running proxy.
    """
    return world.proxied.proxy.edge._handler._chat._planner._compacting._ground.habits


async def test_after_eight_compactions_in_vain_no_more_are_bought(world: World) -> None:
    """
    Twelve turns, eight summaries; the others are answered by the deterministic plan, and an event names the row.
    """
    with capture_logs() as logs:
        replies = [await world.chat(rewritten(turn, row=3)) for turn in range(12)]

    stopped = [event for event in logs if event["event"] == "spending.stopped"]
    assert {reply.status for reply in replies} == {200}
    assert len(world.upstream.summary_calls) == 8
    assert SUMMARY not in texts(world.sent)
    assert (stopped[0]["judged"], stopped[0]["resumed"], stopped[0]["first_divergence"]) == (8, 0, 2)


async def test_a_client_that_resumes_goes_on_buying(world: World) -> None:
    """
    Twelve conversations, each of which goes on after its compaction.
    """
    for number in range(12):
        rows = rewritten(number)
        await world.chat(rows)
        await world.chat([*rows, assistant("ok"), user("go on")])

    assert len(world.upstream.summary_calls) == 12


async def test_a_conversation_that_is_resumed_is_not_made_to_pay_for_others(world: World) -> None:
    """
    While the client's strange histories buy nothing, the one that was resumed is still folded by the model.
    """
    sound = [*BIG, assistant("ok"), user("a sound conversation")]
    await world.chat(sound)
    for turn in range(12):
        await world.chat(rewritten(turn))
    before = len(world.upstream.summary_calls)
    much = chat_session(24)[27:]
    reply = await world.chat([*sound, assistant("ok"), *much])

    assert (reply.action, len(world.upstream.summary_calls)) == ("compacted", before + 1)


async def test_other_clients_are_not_affected(world: World) -> None:
    """
    The books are kept by credential.
    """
    for turn in range(10):
        await world.chat(rewritten(turn))
    before = len(world.upstream.summary_calls)
    await world.chat(BIG, headers={"authorization": "Bearer another"})

    assert len(world.upstream.summary_calls) == before + 1


async def test_many_conversations_at_once_are_no_waste(world_factory: Any) -> None:
    """
    Before they had time to be resumed, nothing is said of them.
    """
    world = await world_factory()
    for turn in range(12):
        await world.chat(rewritten(turn))

    assert len(world.upstream.summary_calls) == 12


async def test_the_books_are_shared_by_replicas(world_factory: Any, tmp_path: Any) -> None:
    """
    A client whose turns alternate between two replicas is found all the same.
    """
    store = {"url": f"sqlite:///{tmp_path}/state.db"}
    both = [await world_factory(store=store) for _ in range(2)]
    for one in both:
        habits_of(one)._judged_after = -1.0
    for turn in range(14):
        await both[turn % 2].chat(rewritten(turn))

    # Each replica learns of it with the next purchase of its own.
    assert sum(len(one.upstream.summary_calls) for one in both) <= 9


async def test_where_a_history_first_differs_is_told(world_factory: Any) -> None:
    """
    A metric by route and an event with a digest of the client: rows that a rule of ``canonicalize`` should cover.
    """
    world = await world_factory()
    with capture_logs() as logs:
        for turn in range(4):
            await world.chat(rewritten(turn, row=6))

    told = [event for event in logs if event["event"] == "conversation.diverged"]
    metric = world.proxied.proxy.core.metrics.first_divergence.labels("default")
    assert [event["row"] for event in told] == [5, 5, 5]
    assert metric._sum.get() == 15
    assert "client-key" not in str(logs)


async def test_a_rule_of_canonicalize_cures_it(world_factory: Any) -> None:
    """
    What the client changes is taken out before the digest: one summary, and the same record each turn.
    """
    rule = {"pattern": r"\[now \d+\] ", "replacement": ""}
    world = await world_factory(compaction={"canonicalize": [rule]})
    rows = rewritten(0)
    actions = []
    for turn in range(6):
        actions.append((await world.chat(rows)).action)
        rows = [*rewritten(turn + 1)[:-2], *rows[len(BIG) :], assistant("ok"), user("on")]

    assert (actions, len(world.upstream.summary_calls)) == (["compacted", *["reused"] * 5], 1)
