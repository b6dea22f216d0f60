"""
Between two compactions the sent prefix is byte-stable, so that the upstream's prompt cache keeps working.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from proxy.chat.json import dumps
from proxy.simulator.prefix import prefix_breaks
from tests.support.conversations import assistant, chat_session, long_session, user
from tests.support.worlds import SUMMARY, texts

BIG = chat_session(13)


def extends(before: Sequence[Any], after: Sequence[Any]) -> bool:
    """
    Tell whether *after* begins with the bytes of *before*.
    """
    return [dumps(row) for row in after[: len(before)]] == [dumps(row) for row in before]


async def test_the_same_request_gives_the_same_bytes(world_factory: Any) -> None:
    """
    Compacted, then resumed three times: one body.
    """
    world = await world_factory()
    for _ in range(4):
        await world.chat(BIG, temperature=0.1)

    assert len({call.body for call in world.upstream.main_calls}) == 1


async def test_the_same_records_give_the_same_bytes_in_another_process(world_factory: Any) -> None:
    """
    Nothing in what is sent depends on clocks, counters or chance.
    """
    bodies = set()
    for _ in range(2):
        world = await world_factory(compaction={"summarizer": {"kind": "extractive"}})
        await world.chat(BIG)
        bodies.add(world.sent.body)

    assert len(bodies) == 1


@pytest.mark.parametrize("kind", ["agent", "chat"])
async def test_each_request_extends_the_one_before(world_factory: Any, kind: str) -> None:
    """
    Every turn but a compaction only appends.
    """
    world = await world_factory()
    previous: Sequence[Any] = ()
    for rows in long_session(24, kind=kind):
        reply = await world.chat(rows)
        sent = world.sent.messages

        assert reply.status == 200
        assert reply.action == "compacted" or extends(previous, sent)
        previous = sent


@pytest.mark.parametrize("change", ["cache_control", "parts", "null", "reasoning", "private key", "spacing"])
async def test_what_clients_vary_from_turn_to_turn_is_recognised(world_factory: Any, change: str) -> None:
    """
    Moved cache marks, text as a part, nulls and reasoning dropped: still the same conversation.
    """
    world = await world_factory(sim={"strict": False})
    rows = [dict(row) for row in BIG]
    if change == "reasoning":
        rows[2]["reasoning_content"] = "hm"
    await world.chat(rows)
    asked = len(world.upstream.summary_calls)
    again = [dict(row) for row in BIG]
    if change == "cache_control":
        again[3]["cache_control"] = {"type": "ephemeral"}
    elif change == "parts":
        again[3]["content"] = [{"type": "text", "text": again[3]["content"]}]
    elif change == "null":
        again[2] |= {"refusal": None, "tool_calls": None}
    elif change == "private key":
        again[3]["_id"] = "row-3"
    again += [assistant("ok"), user("next")]
    reply = await world.chat(again)

    assert (reply.action, len(world.upstream.summary_calls)) == ("reused", asked)


async def test_a_changed_system_prompt_is_taken_live(world_factory: Any) -> None:
    """
    Clocks in system prompts cost the cache, not a summary; the live text is what is sent.
    """
    world = await world_factory()
    await world.chat(BIG)
    asked = len(world.upstream.summary_calls)
    reply = await world.chat([{"role": "system", "content": "It is 10:42 now."}, *BIG[1:]])

    assert (reply.action, len(world.upstream.summary_calls)) == ("reused", asked)
    assert world.sent.messages[0]["content"] == "It is 10:42 now."


async def test_an_edited_old_row_is_folded_anew(world_factory: Any) -> None:
    """
    A record covers the very rows it was made from.
    """
    world = await world_factory()
    await world.chat(BIG)
    rows = [dict(row) for row in BIG]
    rows[3]["content"] = "rewritten: " + rows[3]["content"]
    reply = await world.chat(rows)

    assert reply.action == "compacted"


async def test_a_prepared_record_never_changes_a_running_prefix(world_factory: Any) -> None:
    """
    The next record is made in the background; it is taken up only where a compaction is due.
    """
    world = await world_factory(compaction={"prepare_at": 0.6})
    previous: Sequence[Any] = ()
    taken_up = 0
    for rows in long_session(24, kind="chat"):
        asked = len(world.upstream.summary_calls)
        reply = await world.proxied.chat(rows)
        waited = len(world.upstream.summary_calls) > asked
        await world.proxied.proxy.core.tasks.settled()
        sent = world.upstream.main_calls[-1].messages

        assert reply.action == "compacted" or extends(previous, sent)
        taken_up += reply.action == "compacted" and not waited
        previous = sent

    assert taken_up >= 1
    assert SUMMARY in texts(world.upstream.main_calls[-1])


async def test_compactions_are_few_and_deep(world_factory: Any) -> None:
    """
    A long session breaks the prefix once per compaction and no more.
    """
    world = await world_factory()
    actions = [(await world.chat(rows)).action for rows in long_session(30)]

    assert prefix_breaks([call.messages for call in world.upstream.main_calls]) == actions.count("compacted")
    assert actions.count("compacted") <= 5


async def test_another_model_with_room_gets_the_whole_history(world_factory: Any) -> None:
    """
    A record is for the model it was made for.
    """
    world = await world_factory(sim={"window": None}, models={"roomy": {"context_window": 500_000}})
    await world.chat(BIG)
    reply = await world.chat(BIG, model="roomy")

    assert (reply.action, world.sent.messages) == ("passthrough", BIG)
