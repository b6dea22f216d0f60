"""
What clients do to a history besides appending to it: each does what its record allows, and no more.
"""

from __future__ import annotations

from typing import Any

import pytest

from proxy.compaction.handover import hand_over
from tests.support.conversations import Row, assistant, chat_session, user
from tests.support.worlds import World, texts

BIG = chat_session(13)
MORE = [*BIG, assistant("ok"), user("and the rest?")]


@pytest.fixture
async def world(world_factory: Any) -> World:
    """
    A conversation that has been compacted once.
    """
    world: World = await world_factory()
    await world.chat(MORE)
    assert len(world.upstream.summary_calls) == 1
    return world


async def cut_of(world: World) -> int:
    """
    Return the first row of the whole history that the record left standing, the system row counted.
    """
    (record,) = await world.proxied.proxy.core.store.recent(9)
    return int(record.cut) + 1


def changed(rows: list[Row], index: int, text: str = "something else") -> list[Row]:
    """
    Return the history with another text in one row.
    """
    return [{**row, "content": text} if number == index else row for number, row in enumerate(rows)]


async def test_an_edit_before_the_cut_is_folded_anew(world: World) -> None:
    """
    The record covers the very rows it was made from; what the client said before is not in what is sent.
    """
    reply = await world.chat(changed(MORE, 3, "ONLY-IN-THE-EDIT " + str(MORE[3]["content"])))

    assert (reply.action, len(world.upstream.summary_calls)) == ("compacted", 2)
    assert "ONLY-IN-THE-EDIT" in texts(world.upstream.summary_calls[-1])


async def test_an_edit_after_the_cut_keeps_the_summary(world: World) -> None:
    """
    The live rows are the client's own.
    """
    cut = await cut_of(world)
    index = next(number for number in range(cut + 1, len(MORE)) if MORE[number]["role"] == "user")
    before = world.sent.messages
    reply = await world.chat(changed(MORE, index, "EDITED-AFTER-THE-CUT"))

    assert (reply.action, len(world.upstream.summary_calls)) == ("reused", 1)
    assert "EDITED-AFTER-THE-CUT" in texts(world.sent)
    assert world.sent.messages[:2] == before[:2]


async def test_a_regenerate_after_the_cut_sends_the_same_bytes(world: World) -> None:
    """
    The same history again, for another answer.
    """
    body = world.sent.body
    reply = await world.chat(MORE)

    assert (reply.action, world.sent.body, len(world.upstream.summary_calls)) == ("reused", body, 1)


async def test_a_fork_after_the_cut_shares_the_summary(world: World) -> None:
    """
    Both branches go on from it, neither in the way of the other.
    """
    one = [*MORE, assistant("ok"), user("branch one")]
    other = [*MORE[:-1], user("branch two")]
    replies = [await world.chat(rows) for rows in (one, other, [*one, assistant("ok"), user("on")], other)]

    assert ([reply.action for reply in replies], len(world.upstream.summary_calls)) == (["reused"] * 4, 1)
    assert "branch one" not in texts(world.sent)


async def test_a_history_shortened_behind_the_cut_is_resumed(world: World) -> None:
    """
    The client took back its last turns.
    """
    cut = await cut_of(world)
    last = next(number for number in range(cut, len(MORE)) if MORE[number]["role"] == "user")
    reply = await world.chat(MORE[: last + 1])

    assert (reply.action, len(world.upstream.summary_calls)) == ("reused", 1)


async def test_a_history_shortened_before_the_cut_goes_as_it_is(world: World) -> None:
    """
    Nothing of what the client took back is sent.
    """
    short = MORE[:4]
    reply = await world.chat(short)

    assert (reply.action, world.sent.messages) == ("passthrough", short)
    assert len(world.upstream.summary_calls) == 1


async def test_a_clients_own_compaction_is_a_new_history(world: World) -> None:
    """
    It begins with a summary of the client's; nothing of our record is mixed in.
    """
    own = [MORE[0], user("Summary of the conversation so far: the parser was mended."), assistant("ok"), user("go on")]
    reply = await world.chat(own)

    assert (reply.action, world.sent.messages) == ("passthrough", own)


async def test_a_handover_in_a_clients_own_history_is_no_ask(world: World) -> None:
    """
    A client that keeps what it was shown, and compacts again: the handed-over notes are not taken for its request.
    """
    notes = user(hand_over("## Goal\nMend the parser.", window=8_000))
    rows = [MORE[0], notes, assistant("ok"), *MORE[1:-1], user("THE-REAL-ASK")]
    reply = await world.chat(rows)

    assert (reply.status, reply.action) == (200, "compacted")
    assert "THE-REAL-ASK" in texts(world.sent)


async def test_a_history_without_its_first_rows_is_another_one(world: World) -> None:
    """
    A client with a sliding window never resumes; it is never given what it dropped.
    """
    slid = [MORE[0], *MORE[5:], assistant("ok"), user("on")]
    await world.chat(slid)

    assert "Question 0:" not in texts(world.sent)
