"""
One summary for all processes that share a store.
"""

import asyncio
from collections.abc import Callable

import pytest

from proxy.errors import SummaryError
from proxy.pipeline.holding import Hold
from proxy.pipeline.sharing import Pace, SummarySharing
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.leases import Lease
from proxy.records.memory import MemoryStore
from proxy.summaries.base import Summary
from tests.support.stores import FakeClock, FlakyStore

QUICK = Pace(Hold(renew=0.01), look=0.001, rarely=0.002)


class Maker:
    """
    Makes numbered summaries, each when its gate is open.
    """

    def __init__(self) -> None:
        self.made = 0
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()
        self.fault: Exception | None = None

    async def __call__(self) -> Summary:
        self.made += 1
        number = self.made
        self.begun.set()
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        return Summary(f"summary {number}", calls=1, failures=("none",))


@pytest.fixture
def maker() -> Maker:
    """
    One model for all processes.
    """
    return Maker()


@pytest.fixture
def clock() -> FakeClock:
    """
    Time of the store.
    """
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> FlakyStore:
    """
    The store that they share.
    """
    return FlakyStore(clock=clock)


@pytest.fixture
def process(store: MemoryStore) -> Callable[[], SummarySharing]:
    """
    Return another process on the same store.
    """
    return lambda: SummarySharing(store, TaskKeeper(), pace=QUICK)


async def test_one_makes_it_and_the_others_adopt_its_bytes(process: Callable, maker: Maker) -> None:
    """
    Three processes at once, and one that comes later.
    """
    running = [asyncio.ensure_future(process().once("k", maker)) for _ in range(3)]
    await maker.begun.wait()
    maker.gate.set()
    results = await asyncio.gather(*running)
    results.append(await process().once("k", maker))

    assert (maker.made, set(results)) == (1, {Summary("summary 1", calls=1, failures=("none",))})


async def test_other_keys_are_other_summaries(process: Callable, maker: Maker) -> None:
    """
    A stretch each.
    """
    maker.gate.set()
    await process().once("k", maker)
    await process().once("l", maker)

    assert maker.made == 2


async def test_a_failure_is_shared(process: Callable, maker: Maker) -> None:
    """
    Who waited fails as the maker did, and asks nobody again.
    """
    maker.fault = SummaryError("refusal", transient=True)
    running = [asyncio.ensure_future(process().once("k", maker)) for _ in range(3)]
    await maker.begun.wait()
    maker.gate.set()
    results = await asyncio.gather(*running, return_exceptions=True)

    assert (maker.made, [str(result) for result in results]) == (1, ["summary failed: refusal"] * 3)


async def test_a_stand_in_is_shared_like_a_failure(process: Callable, store: FlakyStore) -> None:
    """
    Those who waited take the very same one; who comes later asks the model anew.
    """
    degraded = Summary("extract", degraded=True, failures=("status 500",))
    begun, gate = asyncio.Event(), asyncio.Event()

    async def stand_in() -> Summary:
        begun.set()
        await gate.wait()
        return degraded

    async def sound() -> Summary:
        return Summary("sound")

    making = asyncio.ensure_future(process().once("k", stand_in))
    await begun.wait()
    waiting = asyncio.ensure_future(process().once("k", sound))
    await asyncio.sleep(0.01)
    gate.set()

    assert (await making, await waiting) == (degraded, degraded)
    assert await process().once("k", sound) == Summary("sound")


async def test_a_failure_counts_for_those_who_waited_alone(process: Callable, maker: Maker) -> None:
    """
    How long the model rests is not decided here.
    """
    maker.gate.set()
    maker.fault = SummaryError("refusal")
    with pytest.raises(SummaryError):
        await process().once("k", maker)
    maker.fault = None

    assert (await process().once("k", maker)).text == "summary 2"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"7", b'{"text": 1}'])
async def test_what_was_told_but_cannot_be_read_is_made_again(
    process: Callable, maker: Maker, store: FlakyStore, damage: bytes
) -> None:
    """
    A damaged fact costs one summary.
    """
    get_fact = store.get_fact

    async def damaged(name: str) -> bytes:
        return damage if name.startswith("summary:") else await get_fact(name)

    store.get_fact = damaged
    maker.gate.set()

    assert (await process().once("k", maker)).text == "summary 1"


async def test_a_maker_that_works_long_keeps_its_lease(
    process: Callable, maker: Maker, clock: FakeClock, store: FlakyStore
) -> None:
    """
    Renewed while it works, so that nobody overtakes it.
    """
    renewed = asyncio.Event()
    renew = store.renew

    async def seen(lease, seconds):
        held = await renew(lease, seconds)
        renewed.set()
        return held

    store.renew = seen
    first = asyncio.ensure_future(process().once("k", maker))
    await maker.begun.wait()
    for _ in range(4):
        clock.advance(QUICK.hold.lease * 0.8)
        renewed.clear()
        await renewed.wait()
    second = asyncio.ensure_future(process().once("k", maker))
    maker.gate.set()

    assert (await first, maker.made) == (await second, 1)


async def test_a_maker_that_died_is_succeeded(process: Callable, maker: Maker, clock: FakeClock, store) -> None:
    """
    Its lease runs out, and another makes the summary.
    """
    name = await held_name(process(), maker, store)
    maker.gate.set()
    await store.lease(name, QUICK.hold.lease)
    waiting = asyncio.ensure_future(process().once("k", maker))
    await asyncio.sleep(0.02)
    made_while_held = maker.made
    clock.advance(QUICK.hold.lease + 1)

    assert ((await waiting).text, made_while_held) == ("summary 1", 0)


async def held_name(sharing: SummarySharing, maker: Maker, store) -> str:
    """
    Return under which name the lease of ``k`` is taken.
    """
    names: list[str] = []
    lease = store.lease

    async def seen(name, seconds):
        names.append(name)
        raise RuntimeError("looked up for a test")

    store.lease = seen
    maker.gate.set()
    await sharing.once("k", maker)
    store.lease = lease
    maker.made = 0
    return names[0]


async def test_a_maker_that_lost_its_lease_adopts_its_successors_bytes(
    process: Callable, maker: Maker, clock: FakeClock, store: FlakyStore
) -> None:
    """
    It slept through its lease; what was told first is what all go by.
    """

    async def lost(*_: object) -> bool:
        return False

    store.renew = lost
    slow = asyncio.ensure_future(process().once("k", maker))
    await maker.begun.wait()
    clock.advance(QUICK.hold.lease + 1)
    quick = Maker()
    quick.gate.set()
    second = await process().once("k", quick)
    maker.gate.set()

    assert (await slow, quick.made) == (second, 1)


async def test_a_maker_that_lost_its_lease_tells_no_failure(
    process: Callable, maker: Maker, clock: FakeClock, store: FlakyStore
) -> None:
    """
    Its successor may be about to succeed.
    """

    async def lost(*_: object) -> bool:
        return False

    store.renew = lost
    maker.fault = SummaryError("timeout")
    maker.gate.set()
    with pytest.raises(SummaryError):
        await process().once("k", maker)
    maker.fault = None

    assert (await process().once("k", maker)).text == "summary 2"


async def test_a_waiter_that_leaves_stops_nothing(process: Callable, maker: Maker) -> None:
    """
    The maker goes on, and the others get its bytes.
    """
    making = asyncio.ensure_future(process().once("k", maker))
    await maker.begun.wait()
    leaving, staying = (asyncio.ensure_future(process().once("k", maker)) for _ in range(2))
    await asyncio.sleep(0.01)
    leaving.cancel()
    maker.gate.set()

    assert (await making, maker.made) == (await staying, 1)


async def test_a_maker_that_is_cancelled_lets_another_make_it(process: Callable, maker: Maker) -> None:
    """
    A process that shuts down gives its lease back.
    """
    making = asyncio.ensure_future(process().once("k", maker))
    await maker.begun.wait()
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    maker.gate.set()

    assert (await process().once("k", maker)).text == "summary 2"


@pytest.mark.parametrize("fault", ["down", "full"])
async def test_a_store_that_fails_costs_the_sharing_alone(
    process: Callable, maker: Maker, store: FlakyStore, fault: str
) -> None:
    """
    Every process makes its own.
    """
    store.write_fault = fault
    maker.gate.set()

    assert [(await process().once("k", maker)).text for _ in range(2)] == ["summary 1", "summary 2"]


async def test_a_summary_that_is_done_waits_for_no_renewal(clock: FakeClock, maker: Maker) -> None:
    """
    A store that is slow just then would hold up the request.
    """

    class Counting(MemoryStore):
        renewed = 0

        async def renew(self, lease: Lease, seconds: float) -> bool:
            self.renewed += 1
            return await super().renew(lease, seconds)

    store = Counting(clock=clock)
    maker.gate.set()
    summary = await SummarySharing(store, TaskKeeper(), pace=Pace(Hold(renew=5.0))).once("k", maker)

    assert (summary.text, store.renewed) == ("summary 1", 0)
