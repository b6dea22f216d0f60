"""
Restarts cost nothing, a lost store one summary a conversation, and waiting is done by nobody.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.conversations import as_requests, chat_session, long_session, system
from tests.support.proxied import Proxied
from tests.support.worlds import World


async def stop(proxied: Proxied) -> None:
    """
    End a proxy as a process ends.
    """
    await proxied.listening.stop()
    await proxied.proxy.close()


async def test_a_restart_between_any_two_turns_buys_nothing(world_factory: Any, tmp_path: Path) -> None:
    """
    The proxy is restarted after every turn, and each turn is sent again to the new one: the same bytes, no summary.

    Between two compactions every turn extends the one before, over all restarts.
    """
    store = {"url": f"sqlite:///{tmp_path}/state.db"}
    before: World | None = None
    actions: list[str] = []
    last: list[Any] = []
    for rows in long_session(22, kind="chat"):
        world: World = await world_factory(store=store)
        if before is not None and actions[-1] != "passthrough":
            again = await world.chat(last)
            assert (again.action, world.sent.messages) == ("reused", before.sent.messages)
            assert world.upstream.summary_calls == []
        reply = await world.chat(rows)
        actions.append(reply.action)
        if before is not None and reply.action != "compacted":
            assert world.sent.messages[: len(before.sent.messages)] == before.sent.messages
        assert len(world.upstream.summary_calls) == (reply.action == "compacted")
        before, last = world, rows
        await stop(world.proxied)

    assert actions.count("compacted") >= 2


async def test_losing_the_store_costs_each_live_conversation_one_summary(world_factory: Any, tmp_path: Path) -> None:
    """
    Five conversations of different length: one new summary each, and they go on.
    """
    path = tmp_path / "state.db"
    store = {"url": f"sqlite:///{path}"}
    first: World = await world_factory(store=store)
    lengths = (13, 14, 15, 16, 17)
    talks = [[system(f"Talk {number}"), *named(number, length)] for number, length in enumerate(lengths)]
    for rows in talks:
        for turn in as_requests(rows):
            await first.chat(turn)
    await stop(first.proxied)
    for file in tmp_path.glob("state.db*"):
        file.unlink()
    second: World = await world_factory(store=store)
    actions = [(await second.chat(rows)).action for rows in talks]
    again = [(await second.chat(rows)).action for rows in talks]

    assert (actions, again) == (["compacted"] * 5, ["reused"] * 5)
    assert len(second.upstream.summary_calls) == 5


def named(number: int, turns: int) -> list[dict[str, Any]]:
    """
    Return a conversation that is no other's.
    """
    rows = chat_session(turns)[1:]
    return [{**rows[0], "content": f"Talk {number}: {rows[0]['content']}"}, *rows[1:]]


@pytest.mark.slow
@pytest.mark.parametrize(("prepare_at", "waits"), [(0.8, 0), (None, 20)])
async def test_with_preparation_no_compaction_of_twenty_waits(
    world_factory: Any, prepare_at: float | None, waits: int
) -> None:
    """
    A summariser that is done before the next turn: prepared, none of twenty compactions waits; unprepared, all do.

    Turns are apart by the end of all background work, which stands for a pause longer than the summariser takes. A
    compaction waited where a summary was asked for before its own call.
    """
    world: World = await world_factory(
        sim={"window": 4_000},
        upstream={"context_window": 4_000},
        compaction={"prepare_at": prepare_at, "threshold_tokens": 2_500},
    )
    compactions = waited = 0
    for rows in long_session(220, bytes_per_round=1_000, kind="chat"):
        before = len(world.upstream.summary_calls)
        reply = await world.proxied.chat(rows)
        during = [call for call in world.upstream.summary_calls[before:]]
        main = world.upstream.main_calls[-1].number
        await world.proxied.proxy.core.tasks.settled()
        if reply.action == "compacted":
            compactions += 1
            waited += any(call.number < main for call in during)
        if compactions == 20:
            break

    assert (compactions, waited) == (20, waits)
