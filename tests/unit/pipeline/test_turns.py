import asyncio
import gc
import threading

import pytest

from proxy.pipeline.turns import HEAVY_BYTES, Turns


class Gauge:
    """
    Knows how many worked at once.
    """

    def __init__(self):
        self.now = self.most = 0
        self.lock = threading.Lock()
        self.go_on = threading.Event()

    def work(self):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.go_on.wait(0.05)
        with self.lock:
            self.now -= 1


@pytest.mark.parametrize(("size", "most"), [(HEAVY_BYTES, 1), (HEAVY_BYTES - 1, 2)])
async def test_what_is_heavy_takes_turns(size, most):
    """
    What is not runs at once.
    """
    gauge, turns = Gauge(), Turns()
    await asyncio.gather(*(turns.run(size, gauge.work) for _ in range(2)))

    assert gauge.most == most


async def test_one_that_leaves_gives_its_turn_away():
    """
    Whether it had it or waited for it.
    """
    gauge, turns = Gauge(), Turns()
    first, second = (asyncio.ensure_future(turns.run(HEAVY_BYTES, gauge.work)) for _ in range(2))
    await asyncio.sleep(0.01)
    first.cancel()
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)

    assert await asyncio.wait_for(turns.run(HEAVY_BYTES, len, "abc"), 5) == 3


async def test_what_goes_wrong_is_told_and_holds_nobody_up():
    """
    The next one has its turn.
    """
    turns = Turns()
    with pytest.raises(ZeroDivisionError):
        await turns.run(HEAVY_BYTES, divmod, 1, 0)

    assert await turns.run(HEAVY_BYTES, divmod, 7, 2) == (3, 1)


async def test_a_turn_lasts_as_long_as_its_work_whoever_has_left():
    """
    A thread cannot be stopped: clients that leave and come back would have many work at once.
    """
    gauge, turns = Gauge(), Turns()
    for _ in range(3):
        left = asyncio.ensure_future(turns.run(HEAVY_BYTES, gauge.work))
        await asyncio.sleep(0.01)
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
    await turns.run(HEAVY_BYTES, gauge.work)

    assert gauge.most == 1


async def test_a_fault_of_which_nobody_is_left_to_be_told_is_not_told():
    """
    Nor does it keep the turn.
    """
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    gauge, turns = Gauge(), Turns()

    def fail() -> None:
        gauge.work()
        raise ValueError

    left = asyncio.ensure_future(turns.run(HEAVY_BYTES, fail))
    await asyncio.sleep(0.01)
    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    del left
    await turns.run(HEAVY_BYTES, gauge.work)
    gc.collect()

    assert told == []
