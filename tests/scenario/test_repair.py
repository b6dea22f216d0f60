"""
A degraded record is folded again by the model once it is back, and the better one is used at the next compaction.
"""

from __future__ import annotations

from typing import Any

import pytest

from proxy.simulator.steps import repeat, status, when
from tests.support.conversations import assistant, chat_session, long_session, user
from tests.support.worlds import SUMMARY, World, texts

BIG = chat_session(13)
MORE = [*BIG, assistant("ok"), user("and the rest?")]


@pytest.fixture
async def world(world_factory: Any) -> World:
    """
    A proxy whose model fails once and is asked again at once.
    """
    world: World = await world_factory(compaction={"prepare_at": 0.9, "summarizer": {"cooldown": 0}})
    world.upstream.will(when(status(500), summary=True))
    return world


async def records(world: World) -> list[Any]:
    """
    Return all records, oldest first.
    """
    return list(reversed(await world.proxied.proxy.core.store.recent(100)))


async def test_a_better_record_waits_after_the_next_request(world: World) -> None:
    """
    Made from the rows that the request carried, for the same cut; the degraded one stays as it is.
    """
    await world.chat(BIG)
    await world.chat(MORE)
    degraded, better = await records(world)

    assert (degraded.degraded, better.degraded, better.pending) == (True, False, True)
    assert (better.cut, better.parent, better.depth) == (degraded.cut, degraded.key, 1)
    assert (SUMMARY in degraded.summary, SUMMARY in better.summary) == (False, True)


async def test_no_byte_of_the_running_prefix_changes(world: World) -> None:
    """
    The degraded summary goes on being sent until the next compaction.
    """
    await world.chat(BIG)
    await world.chat(MORE)
    before = world.sent.messages
    reply = await world.chat([*MORE, assistant("ok"), user("more")])

    assert (reply.action, world.sent.messages[: len(before)]) == ("reused", before)


async def test_the_next_compaction_builds_on_the_better_one(world: World) -> None:
    """
    What is folded next is the model's summary, not the extract.
    """
    turns = [turn for turn in long_session(40, kind="chat") if len(turn) >= len(BIG)]
    actions = []
    while actions.count("compacted") < 2:
        actions.append((await world.chat(turns[len(actions)])).action)
    failed, repaired, folded = world.upstream.summary_calls

    assert (failed.status, SUMMARY in texts(repaired), SUMMARY in texts(folded)) == (500, False, True)
    assert SUMMARY in texts(world.sent)


async def test_it_is_bought_once(world: World) -> None:
    """
    Turn after turn with a better record waiting buys no other.
    """
    await world.chat(BIG)
    rows = MORE
    for _ in range(3):
        await world.chat(rows)
        rows = [*rows, assistant("ok"), user("on")]

    assert len(world.upstream.summary_calls) == 2


async def test_a_model_that_rests_is_not_asked(world_factory: Any) -> None:
    """
    During the cooldown nothing is repaired.
    """
    world = await world_factory(compaction={"prepare_at": 0.9})
    world.upstream.will(repeat(5, when(status(500), summary=True)))
    await world.chat(BIG)
    await world.chat(MORE)

    assert len(world.upstream.summary_calls) == 1


async def test_where_nothing_is_prepared_nothing_is_repaired(world_factory: Any) -> None:
    """
    Local servers with one slot want no calls in the background.
    """
    world = await world_factory(compaction={"prepare_at": None, "summarizer": {"cooldown": 0}})
    world.upstream.will(when(status(500), summary=True))
    await world.chat(BIG)
    await world.chat(MORE)

    assert len(world.upstream.summary_calls) == 1


async def test_each_stage_is_counted(world: World) -> None:
    """
    What was sent and what was made ahead are told apart in the metrics.
    """
    for turn in long_session(40, kind="chat")[12:]:
        await world.chat(turn)
    metric = world.proxied.proxy.core.metrics.compactions
    stages = {sample.labels["stage"] for family in metric.collect() for sample in family.samples if sample.value}

    assert {"summary", "repaired", "prepared", "taken-up"} <= stages
