"""
A server that cuts prompts in silence, or answers nothing since its window is full, is noticed, told of, and spared.
"""

from __future__ import annotations

from typing import Any

from tests.support.conversations import long_session
from tests.support.worlds import World, WorldFactory

LONG = long_session(14)[-1]
LONGER = [*LONG, *long_session(3)[-1][1:]]
CUT = {"window": 4_096, "wording": "ollama-truncate"}
EXTRACTIVE = {"summarizer": {"kind": "extractive"}, "minimum_threshold_tokens": 1}
BELIEVED = {"models": {"*": {"context_window": 40_000}}}
"""Far more than the server has, and little enough that requests are counted."""
READ_ONLY = "the upstream read only 2050 of about "


def overflows(world: World, kind: str) -> float:
    return world.proxied.proxy.core.metrics.overflow.labels(kind)._value.get()


async def test_a_cut_prompt_is_disclosed_and_the_next_one_fits(world_factory: WorldFactory, capsys: Any) -> None:
    """
    Two prompts that count the same betray the wall: a warning, a metric, an event, and from then on a smaller window.
    """
    world = await world_factory(sim=CUT, blind=True, compaction=EXTRACTIVE, **BELIEVED)

    first = await world.chat(LONG)
    second = await world.chat(LONGER)
    events = capsys.readouterr().out
    third = await world.chat(LONGER)

    assert "x-concertina-warning" not in first.headers
    assert second.headers["x-concertina-warning"].startswith(READ_ONLY)
    assert overflows(world, "silent_truncation") == 1
    assert "event='truncation.detected'" in events
    assert "kind='silent_truncation'" in events
    assert (third.action, third.headers["x-concertina-tokens"].split(";")[-1]) == ("compacted", "window=2050")
    assert world.sent.prompt_tokens <= 2_050


async def test_a_stream_is_told_of_with_the_next_answer(world_factory: WorldFactory) -> None:
    """
    The count stands at the end of a stream, when its headers are long gone.
    """
    world = await world_factory(sim=CUT, blind=True, compaction=EXTRACTIVE, **BELIEVED)
    asked = {"stream": True, "stream_options": {"include_usage": True}}

    replies = [await world.chat(rows, **asked) for rows in (LONG, LONGER, LONGER, LONGER)]

    warnings = [reply.headers.get("x-concertina-warning", "") for reply in replies]
    assert [warning.startswith(READ_ONLY) for warning in warnings] == [False, False, True, False]


async def test_a_server_far_below_its_reputation_is_found_out_too(world_factory: WorldFactory) -> None:
    """
    With a window of 128,000 tokens believed, a prompt of 4,000 is never counted beforehand; its low count says to.
    """
    world = await world_factory(
        sim={**CUT, "window": 2_600}, blind=True, compaction={**EXTRACTIVE, "minimum_threshold_tokens": 64_000}
    )
    seven, nine, ten = (long_session(turns)[-1] for turns in (7, 9, 10))
    await world.chat(seven)
    await world.chat(nine)

    told = await world.chat(ten)

    assert told.headers["x-concertina-warning"].startswith("the upstream read only 1302 of about ")
    assert (told.action, world.sent.prompt_tokens <= 1_302) == ("compacted", True)


async def test_another_credential_keeps_its_own_belief(world_factory: WorldFactory) -> None:
    """
    What one key's answers show is no reason to shorten another's history.
    """
    world = await world_factory(sim=CUT, blind=True, compaction=EXTRACTIVE, **BELIEVED)
    await world.chat(LONG)
    await world.chat(LONGER)

    other = await world.chat(LONGER, headers={"authorization": "Bearer somebody-else"})

    assert (other.action, "x-concertina-warning" in other.headers) == ("passthrough", False)


async def test_counts_that_follow_the_prompt_are_no_wall(world_factory: WorldFactory) -> None:
    """
    A tokenizer of 0.6 tokens for one of ours makes every count low, and cuts nothing.
    """
    world = await world_factory(sim={"window": None, "token_ratio": 0.6}, blind=True, compaction=EXTRACTIVE, **BELIEVED)

    replies = [await world.chat(rows) for rows in (LONG, LONG, LONGER, LONGER)]

    assert {reply.action for reply in replies} == {"passthrough"}
    assert not any("x-concertina-warning" in reply.headers for reply in replies)


FULL = {"window": 8_000, "wording": "finish-length", "token_ratio": 1.4, "hidden_tokens": 1_400}
"""A prompt that we take for 5,400 tokens fills this window."""
TEN = long_session(10)[-1]


async def test_an_empty_stream_far_from_the_window_is_told_of_by_its_numbers(world_factory: WorldFactory) -> None:
    """
    Nothing spoke for a retry; the count at the end of the stream shows why it was empty.
    """
    world = await world_factory(sim=FULL, compaction={"threshold_tokens": 7_200})
    asked = {"model": "gpt-4o", "stream": True, "stream_options": {"include_usage": True}}

    empty = await world.chat(long_session(9)[-1], **asked)
    next_one = await world.chat([{"role": "user", "content": "hello"}], **asked)

    assert empty.action == "passthrough"
    assert next_one.headers["x-concertina-warning"].startswith("the prompt left the upstream no room to answer")
    assert overflows(world, "no_room") == 1


async def test_an_empty_answer_at_the_end_of_the_window_is_an_overflow(world_factory: WorldFactory) -> None:
    """
    An answer that is not streamed shows its numbers before anything is relayed, so there is time to do better.
    """
    world = await world_factory(sim=FULL, compaction={"threshold_tokens": 7_200})

    reply = await world.chat(TEN, model="gpt-4o")

    assert (reply.status, reply.action, len(world.calls)) == (200, "recovered", 2)


async def test_an_empty_stream_where_the_prompt_nearly_filled_the_window_is_tried_again(
    world_factory: WorldFactory,
) -> None:
    """
    The client gets an answer, and is told what happened.
    """
    world = await world_factory(
        sim={"window": 8_000, "wording": "finish-length", "token_ratio": 1.1}, compaction={"mode": "recover"}
    )

    reply = await world.chat(LONG, model="gpt-4o", stream=True)

    assert (reply.status, reply.action) == (200, "recovered")
    assert "no room to answer" in reply.headers["x-concertina-warning"]
    assert overflows(world, "no_room") == 1
