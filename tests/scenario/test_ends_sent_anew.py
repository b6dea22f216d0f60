"""
A client that sends its files, the time or reminders anew near the end of each request has its compactions resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from proxy.chat.json import dumps, loads
from proxy.pipeline.explainer import PATH
from proxy.upstream.wire import Incoming
from tests.support.conversations import Row, assistant, filler, system, user
from tests.support.worlds import World, texts

TURNS = 40
End = Callable[[int], list[Row]]


def files(size: int) -> End:
    """
    Return what makes the files of a turn, of *size* characters, with the answer that a client puts behind them.
    """
    return lambda turn: [user(f"FILES-{turn}: " + filler(size, seed=f"f{turn}")), assistant("Ok, these are the files.")]


def requests(end: End) -> Iterator[list[Row]]:
    """
    Yield the requests of a client that puts the *end* of each turn in front of its last row, which it cleans later.
    """
    rows = [system(size=400)]
    for turn in range(TURNS):
        ask = f"ASK-{turn}: " + filler(500, seed=f"q{turn}")
        yield [*rows, *end(turn), user(ask + "\nREMINDER")]
        rows += [user(ask), assistant(f"Answer {turn}: " + filler(500, seed=f"a{turn}"))]


async def carry(world: World, end: End) -> int:
    """
    Carry the session, all of it answered, and return how many turns were compactions.
    """
    compacted = 0
    for turn, rows in enumerate(requests(end)):
        reply = await world.chat(rows)
        compacted += reply.action == "compacted"

        assert reply.status == 200
        assert f"ASK-{turn}:" in texts(world.sent)
    return compacted


def cold(bodies: Sequence[bytes]) -> int:
    """
    Return how many requests share less than half of what a prompt cache could have kept: all before the files.
    """
    pairs = [(shared(before, after), before) for before, after in pairwise(bodies)]
    return sum(reused < before.find(b"FILES-") // 2 for reused, before in pairs)


def shared(before: bytes, after: bytes) -> int:
    """
    Return how many bytes two bodies begin with alike.
    """
    pairs = enumerate(zip(before, after, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(before), len(after)))


@pytest.mark.parametrize("prepare_at", [None, 0.9])
@pytest.mark.parametrize(("size", "most"), [(300, 3), (2_500, 3), (6_000, 5), (9_000, 7)])
async def test_large_or_small_it_costs_a_handful_of_compactions(
    world_factory: Any, size: int, most: int, prepare_at: float | None
) -> None:
    """
    40 turns; the files take up to half of the threshold, and what changes is sent as it is in every turn.
    """
    world = await world_factory(compaction={"prepare_at": prepare_at})
    compacted = await carry(world, files(size))
    bodies = [call.body for call in world.upstream.main_calls]

    assert compacted <= most
    assert cold(bodies) <= most
    assert len(world.upstream.summary_calls) <= most + 2
    for turn, body in enumerate(bodies):
        assert filler(size, seed=f"f{turn}").encode()[-100:] in body.replace(b"\\n", b"\n")


async def test_what_outgrows_the_window_is_cut_and_the_summary_of_the_rest_resumed(world_factory: Any) -> None:
    """
    Files that no window holds are cut inside, without a model; what was said before them is summarised now and then.
    """
    world = await world_factory()
    await carry(world, files(24_000))
    bodies = [call.body for call in world.upstream.main_calls]

    assert len(world.upstream.summary_calls) <= 14
    assert cold(bodies) <= 12
    assert all(b"FILES-" in body for body in bodies)


async def test_a_client_that_appends_is_served_as_ever(world_factory: Any) -> None:
    """
    The same session without an end of its own, and with one edit of an old turn on the way.
    """
    world, plain = await world_factory(), await world_factory()
    rows: list[list[Row]] = list(requests(lambda _: []))
    cleaned = [[*each[:-1], user(str(each[-1]["content"]).removesuffix("\nREMINDER"))] for each in rows]
    for each in cleaned:
        await plain.chat(each)
    for number, each in enumerate(cleaned):
        if number == TURNS // 2:
            await world.chat([*each[:-3], user("EDITED"), each[-2], each[-1]])
        await world.chat(each)

    assert len(world.upstream.summary_calls) == len(plain.upstream.summary_calls)
    assert world.sent.body == plain.sent.body


@pytest.mark.parametrize(("processes", "size", "most"), [("restarted", 6_000, 6), ("eight", 9_000, 8)])
async def test_another_process_knows_what_one_learned(
    world_factory: Any, tmp_path: Path, processes: str, size: int, most: int
) -> None:
    """
    Restarted every three turns, or eight at random on one store: as few compactions as in one that lives on.

    Each once learned it by itself, from three turns of its own, and covered the files of a turn until then.
    """
    store = {"url": f"sqlite:///{tmp_path}/state.db"}
    restarts, random = processes == "restarted", Random(1)
    worlds = [await world_factory(store=store) for _ in range(TURNS // 3 + 1 if restarts else 8)]
    compacted = 0
    for turn, rows in enumerate(requests(files(size))):
        world = worlds[turn // 3 if restarts else random.randrange(8)]
        compacted += (await world.chat(rows)).action == "compacted"

    assert compacted <= most
    assert sum(len(world.upstream.summary_calls) for world in worlds) <= most + 2


async def test_what_is_learned_is_told_when_it_changes(world_factory: Any) -> None:
    """
    Not with every turn.
    """
    world = await world_factory()
    store, told = world.proxied.proxy.core.store, []
    put = store.put_fact

    async def seen(name: str, value: bytes, ttl_seconds: float | None = None) -> None:
        told.extend([value] if name.startswith("habit:") else [])
        await put(name, value, ttl_seconds)

    store.put_fact = seen
    await carry(world, files(6_000))

    assert told == [b"3"]


async def test_an_explanation_knows_it_as_well(world_factory: Any) -> None:
    """
    Otherwise it tells that files are folded which the proxy sends as they are.
    """
    world = await world_factory()
    own = (("authorization", "Bearer client-key"),)
    for turn, rows in enumerate(requests(files(6_000))):
        body = dumps({"model": "sim-model", "messages": rows})
        told = await world.proxied.proxy.explainer.explain(Incoming("POST", PATH, own, body))
        reply = await world.chat(rows)

        assert told.action == reply.action
        assert (f"FILES-{turn}" in told.body.decode()) == (f"FILES-{turn}" in texts(world.sent))
        assert len(loads(told.body)["messages"]) == len(world.sent.messages)
