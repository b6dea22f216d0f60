"""
A focus topic, by header or as the user's last words, gets 60-70 % of the summary.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from proxy.compaction.handover import unwrap
from tests.support.conversations import assistant, call, result, user
from tests.support.worlds import texts

TOPICS = ("billing", "export", "login", "search")
WINDOW = 64_000
COMMAND = {"focus_command": "/compact"}


def review(rounds: int = 120) -> list[dict[str, Any]]:
    """
    Return a review of four modules, of which each gets as many words.
    """
    rng = Random(7)
    rows = [user("Please review everything.")]
    for number in range(rounds):
        topic = TOPICS[number % len(TOPICS)]
        lines = [
            f"{topic} rule {number}-{line} sets limit_{rng.randrange(10**6)} for pump_{rng.randrange(10**5)}"
            for line in range(8)
        ]
        rows += [
            call("read_file", id=f"c{number}", path=f"src/{topic}/part_{number}.py"),
            {**result(f"c{number}", 10), "content": "\n".join(lines)},
            assistant(f"The {topic} module, part {number}, was checked; key_{rng.randrange(10**6)} was odd."),
        ]
    return [*rows, user("Go on with the next one.")]


async def world_of(world_factory: Any, kind: str, **compaction: Any) -> Any:
    """
    Start a world that compacts on demand.
    """
    given = {"threshold_tokens": 16_000, "summarizer": {"kind": kind}, **compaction}
    return await world_factory(sim={"window": WINDOW}, upstream={"context_window": WINDOW}, compaction=given)


async def asked(world: Any, way: str, topic: str) -> None:
    """
    Ask for a compaction with that topic.
    """
    rows = review()
    if way == "header":
        await world.chat(rows, headers={"x-concertina-focus": topic, "x-concertina-force": "true"})
    else:
        await world.chat([*rows[:-1], user(f"/compact {topic}")])


def share_of(topic: str, world: Any, count: Any) -> float:
    """
    Return which share of the summary, its index of exact strings apart, stands in lines that name *topic*.
    """
    row = next(str(row["content"]) for row in world.sent.messages if "[notes on" in str(row["content"]))
    lines = [line for line in (unwrap(row) or "").splitlines() if not line.startswith("Also seen")]
    return sum(count(line) for line in lines if topic in line) / sum(count(line) for line in lines)


@pytest.mark.parametrize("way", ["header", "command"])
@pytest.mark.parametrize("topic", ["billing", "the billing module"])
async def test_a_topic_gets_two_thirds(world_factory: Any, exact_counter: Any, way: str, topic: str) -> None:
    """
    Of the bytes that reach the upstream; generic words of the topic bring nothing else in.
    """
    world = await world_of(world_factory, "extractive", **COMMAND)
    await asked(world, way, topic)

    assert 0.60 <= share_of("billing", world, exact_counter.text) <= 0.75


async def test_without_a_topic_each_has_its_part(world_factory: Any, exact_counter: Any) -> None:
    """
    A quarter or so.
    """
    world = await world_of(world_factory, "extractive")
    await world.chat(review(), headers={"x-concertina-force": "true"})

    assert share_of("billing", world, exact_counter.text) < 0.40


async def test_the_command_reaches_the_summary_model_as_topic(world_factory: Any) -> None:
    """
    With the share that it is to have, after everything else.
    """
    world = await world_of(world_factory, "llm", **COMMAND)
    await asked(world, "command", "the billing module")

    assert "60-70 % of the length to this topic" in texts(world.upstream.summary_calls[0])
    assert texts(world.upstream.summary_calls[0]).rstrip('"}]').endswith("to the rest: the billing module")


async def test_the_command_means_nothing_where_it_is_not_configured(world_factory: Any) -> None:
    """
    Then it is a message like any other.
    """
    world = await world_of(world_factory, "extractive", threshold_tokens=60_000)
    reply = await world.chat([*review(20)[:-1], user("/compact billing")])

    assert reply.action == "passthrough"
