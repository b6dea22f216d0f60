"""
How long a client may keep us waiting, without a clock of our own.
"""

from __future__ import annotations

from proxy.server.patience import Patience
from tests.support.timers import Timers


def patient() -> tuple[Patience, Timers, list[str]]:
    timers = Timers()
    return Patience(timers), timers, []  # type: ignore[arg-type]


async def test_gives_up_a_moment_after_the_time_is_over():
    """
    The moment is ours: bytes that came in time may not have been read yet.
    """
    patience, timers, told = patient()
    patience.allow(30, lambda: told.append("over"))
    timers.pass_until(30.1)
    before = list(told)
    timers.pass_until(30.3)

    assert (before, told) == ([], ["over"])


async def test_what_comes_in_that_moment_came_in_time():
    """
    The next wait begins anew.
    """
    patience, timers, told = patient()
    patience.allow(30, lambda: told.append("head"))
    timers.pass_until(30.1)
    patience.allow(75, lambda: told.append("idle"))
    timers.pass_until(105)
    before = list(told)
    timers.pass_until(106)

    assert (before, told) == ([], ["idle"])


async def test_a_shorter_wait_is_not_lost_behind_a_longer_one():
    """
    A head that begins late in a long rest has its own limit.
    """
    patience, timers, told = patient()
    patience.allow(75, lambda: told.append("idle"))
    timers.pass_until(10)
    patience.allow(30, lambda: told.append("head"))
    timers.pass_until(41)

    assert told == ["head"]


async def test_many_waits_cost_one_timer():
    """
    A thousand requests on one connection set it as often as it rings.
    """
    patience, timers, told = patient()
    for second in range(1_000):
        timers.pass_until(second)
        patience.allow(75, lambda: told.append("idle"))
        patience.pardon()
    patience.stop()
    timers.pass_until(2_000)

    assert told == []
    assert timers.set < 30
