"""
A lease that is held while its work runs.
"""

import asyncio

import pytest

from proxy.errors import StoreError
from proxy.pipeline.holding import Hold, held
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.leases import Lease
from proxy.records.memory import MemoryStore
from tests.support.stores import FakeClock

QUICK = Hold(lease=10.0, renew=0.001)


class Store(MemoryStore):
    """
    Tells when a lease was renewed; *down* fails instead.
    """

    down = False

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock=clock)
        self.renewed = asyncio.Event()

    async def renew(self, lease: Lease, seconds: float) -> bool:
        self.renewed.set()
        if self.down:
            raise StoreError("sqlite", "busy")
        return await super().renew(lease, seconds)

    async def seen(self) -> None:
        """
        Wait for a renewal that begins from now on.
        """
        for _ in range(2):
            self.renewed.clear()
            await self.renewed.wait()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> Store:
    return Store(clock)


async def test_work_may_take_many_times_as_long_as_its_lease(clock: FakeClock, store: Store) -> None:
    """
    Nobody else gets it meanwhile; once the work is done it is renewed no more.
    """
    tasks = TaskKeeper()
    lease = await store.lease("k", QUICK.lease)
    assert lease
    async with held(store, lease, tasks, QUICK):
        for _ in range(5):
            clock.advance(8)
            await store.seen()
            assert await store.lease("k", 1) is None
    await tasks.settled()
    clock.advance(11)

    assert await store.lease("k", 1)


async def test_work_that_fails_or_is_cancelled_holds_nothing(clock: FakeClock, store: Store) -> None:
    """
    The fault comes through, and the lease ends by itself.
    """
    tasks = TaskKeeper()
    lease = await store.lease("k", QUICK.lease)
    assert lease
    for fault in (ValueError, asyncio.CancelledError):
        with pytest.raises(fault):
            async with held(store, lease, tasks, QUICK):
                raise fault
    await tasks.settled()

    assert len(tasks) == 0


async def test_a_store_that_is_down_stops_no_work(store: Store) -> None:
    """
    Renewing goes on, since it may be back.
    """
    lease = await store.lease("k", QUICK.lease)
    assert lease
    store.down = True
    async with held(store, lease, TaskKeeper(), QUICK):
        await store.seen()
        store.down = False
        await store.seen()

        assert await store.renew(lease, 1)
