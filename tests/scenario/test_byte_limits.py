"""
The second budget: what a gateway lets through in bytes is learned where it is stated, and kept.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from proxy.simulator.steps import raw
from tests.support.conversations import assistant, image, system, user
from tests.support.worlds import is_whole

LIMIT = 1_000_000
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
ALICE = {"authorization": "Bearer alice-key"}
BOB = {"authorization": "Bearer bob-key"}


def screenshots(number: int, *, size: int = 150_000, name: str = "screen") -> list[Any]:
    """
    Return a session of *number* screenshots, the newest last.
    """
    rows: list[Any] = [system()]
    for index in range(number - 1):
        rows += [image(f"look at {name} {index}", size=size), assistant(f"{name} {index} shows a form")]
    return [*rows, image(f"{name} now", size=size)]


async def gateway(world_factory: Any, *, stated: bool = True, **more: Any) -> Any:
    wording = "json" if stated else "nginx"
    return await world_factory(blind=True, sim={"window": None, "max_bytes": LIMIT, "bytes_wording": wording}, **more)


def statuses(world: Any) -> list[int]:
    return [call.status for call in world.calls]


@STREAMS
async def test_a_stated_limit_is_learned(world_factory: Any, stream: bool) -> None:
    """
    One 413 teaches it; another conversation of the same client is made to fit before it is sent, its newest screenshot whole.
    """
    world = await gateway(world_factory)
    await world.chat(screenshots(9), headers=ALICE)
    first = statuses(world)
    rows = screenshots(9, name="page")
    reply = await world.chat(rows, headers=ALICE, stream=stream)

    assert first == [413, 200]
    assert is_whole(reply, stream=stream)
    assert statuses(world) == [200]
    assert len(world.sent.body) <= LIMIT
    assert world.sent.messages[-1] == rows[-1]


async def test_the_mode_recover_learns_as_well(world_factory: Any) -> None:
    """
    It acts after an error; a 413 that is sure to come is one.
    """
    world = await gateway(world_factory, compaction={"mode": "recover"})
    await world.chat(screenshots(9), headers=ALICE)
    reply = await world.chat(screenshots(9, name="page"), headers=ALICE)

    assert (reply.status, reply.action, statuses(world)) == (200, "compacted", [200])


async def test_it_belongs_to_the_credential_that_met_it(world_factory: Any) -> None:
    """
    What one client was told is not held against another; two who were told the same speak for all.
    """
    world = await gateway(world_factory)
    await world.chat(screenshots(9), headers=ALICE)
    await world.chat(screenshots(9, name="page"), headers=BOB)
    bobs = statuses(world)
    await world.chat(screenshots(9, name="view"), headers={"authorization": "Bearer carol-key"})

    assert bobs == [413, 200]
    assert statuses(world) == [200]


async def test_it_outlives_a_restart(world_factory: Any, tmp_path: Path) -> None:
    """
    The store keeps it like a learned window.
    """
    store = {"url": f"sqlite:///{tmp_path / 'state.db'}"}
    before = await gateway(world_factory, store=store)
    await before.chat(screenshots(9), headers=ALICE)
    await before.proxied.proxy.close()
    after = await world_factory(
        blind=True,
        sim={"window": None, "max_bytes": LIMIT},
        upstream={"base_url": before.upstream.url},
        store=store,
    )
    reply = await after.chat(screenshots(9, name="page"), headers=ALICE)

    assert reply.status == 200
    assert [call.status for call in before.upstream.main_calls] == [413, 200, 200]


async def test_it_expires(world_factory: Any) -> None:
    """
    Gateways are set up anew: after limit_ttl the whole body is tried again.
    """
    world = await gateway(world_factory, recovery={"limit_ttl": 0.000001})
    await world.chat(screenshots(9), headers=ALICE)
    await world.chat(screenshots(9, name="page"), headers=ALICE)

    assert statuses(world) == [413, 200]


async def test_a_halved_budget_serves_its_request_only(world_factory: Any) -> None:
    """
    A 413 that states nothing teaches nothing: the next conversation goes out whole.
    """
    world = await gateway(world_factory, stated=False)
    await world.chat(screenshots(9), headers=ALICE)
    first = statuses(world)
    rows = screenshots(6, name="page")
    await world.chat(rows, headers=ALICE)

    assert first == [413, 200]
    assert statuses(world) == [200]
    assert world.sent.messages == rows


async def test_a_configured_budget_provokes_no_413(world_factory: Any) -> None:
    """
    max_body is kept from the first request on.
    """
    world = await gateway(world_factory, upstream={"max_body": LIMIT})
    reply = await world.chat(screenshots(9))

    assert (reply.status, reply.action, statuses(world)) == (200, "compacted", [200])
    assert len(world.sent.body) <= LIMIT


async def test_a_growing_session_is_not_rewritten_every_turn(world_factory: Any) -> None:
    """
    Old screenshots leave in batches, so that most requests begin with the bytes of the one before.
    """
    world = await gateway(world_factory, upstream={"max_body": LIMIT})
    sent = []
    rows = screenshots(1, size=100_000)
    for turn in range(24):
        await world.chat(rows)
        sent.append(world.sent.messages)
        rows = [*rows, assistant(f"seen {turn}"), image(f"screen {turn}", size=100_000)]
    kept = sum(later[: len(earlier)] == earlier for earlier, later in pairwise(sent))

    assert {call.status for call in world.upstream.main_calls} == {200}
    assert kept >= 17


async def test_a_newest_screenshot_over_the_limit_leaves_last(world_factory: Any) -> None:
    """
    No body can carry it, so that a label goes in its place; the words of the ask stay.
    """
    world = await gateway(world_factory)
    reply = await world.chat([system(), image("what is this?", size=2 * LIMIT)], headers=ALICE)

    assert (reply.status, statuses(world)) == (200, [413, 200])
    assert "what is this?" in str(world.sent.messages)


async def test_a_limit_that_the_request_itself_names_is_not_believed(world_factory: Any) -> None:
    """
    A number that stands in the conversation may be an echo of it.
    """
    world = await gateway(world_factory)
    talk = user(f"our gateway takes {LIMIT} bytes")
    await world.chat([system(), talk, assistant("I see"), *screenshots(9)[1:]], headers=ALICE)
    rows = screenshots(9, name="page")
    await world.chat(rows, headers=ALICE)

    assert statuses(world) == [413, 200]


async def test_a_413_about_tokens_teaches_no_bytes(world_factory: Any) -> None:
    """
    "Max size: 8000 tokens" at 413 is a window.
    """
    world = await world_factory(blind=True, sim={"window": None})
    world.upstream.will(
        raw(413, body=b'{"error":{"message":"Request body too large for x model. Max size: 8000 tokens."}}')
    )
    await world.chat(screenshots(9), headers=ALICE)
    rows = screenshots(2, size=800_000, name="page")
    await world.chat(rows, headers=ALICE)

    assert world.sent.messages == rows
