"""
When a client is looked at, and what of it costs something, without a clock of our own.
"""

from __future__ import annotations

from proxy.server.watch import Unread
from tests.support.timers import Timers


class Waiting:
    """
    A transport in which bytes wait; what the system holds of them cannot be told.
    """

    def __init__(self, waiting: int) -> None:
        self.waiting = waiting

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def get_extra_info(self, name: str) -> Waiting:
        return self

    def fileno(self) -> int:
        return 1_000_000


def watched(waiting: int = 100_000) -> tuple[Unread, Waiting, Timers, list[float]]:
    timers, transport, struck = Timers(), Waiting(waiting), []
    return Unread(transport, timers, seconds=80, over=lambda: struck.append(timers.now)), transport, timers, struck  # type: ignore[arg-type]


async def test_a_client_that_takes_nothing_is_given_up_after_its_time():
    """
    Never earlier, and an eighth later at most; and once.
    """
    unread, _, timers, struck = watched()
    unread.begin()
    timers.pass_until(1_000)

    assert len(struck) == 1
    assert 80 <= struck[0] <= 90


async def test_a_single_byte_gives_the_whole_time_anew():
    """
    Whenever it is taken.
    """
    unread, transport, timers, struck = watched()
    unread.begin()
    timers.pass_until(75)
    transport.waiting -= 1
    timers.pass_until(154)
    before = list(struck)
    timers.pass_until(1_000)

    assert (before, len(struck)) == ([], 1)


async def test_more_that_waits_is_not_progress():
    """
    A comment that keeps a line alive does not keep a client alive.
    """
    unread, transport, timers, struck = watched()
    unread.begin()
    for second in range(0, 100, 5):
        timers.pass_until(second)
        transport.waiting += 14

    assert len(struck) == 1


async def test_who_catches_up_and_falls_behind_again_has_the_whole_time():
    """
    However much waits the second time.
    """
    unread, transport, timers, struck = watched()
    unread.begin()
    timers.pass_until(79)
    unread.end()
    transport.waiting += 1
    unread.begin()
    timers.pass_until(158)

    assert struck == []


async def test_a_process_that_stood_still_does_not_blame_its_client():
    """
    A debugger or a full disk held us up for an hour: that was a single look.
    """
    unread, _, timers, struck = watched()
    unread.begin()
    timers.pass_until(15)
    timers.now += 3_600
    timers.pass_until(timers.now + 20)

    assert struck == []


async def test_holding_up_a_thousand_times_costs_few_timers():
    """
    A reader at nearly the upstream's pace is paused all the time.
    """
    unread, _, timers, struck = watched()
    for tenth in range(1_000):
        timers.pass_until(tenth / 10)
        unread.begin()
        unread.end()
    timers.pass_until(200)

    assert (struck, timers.set) == ([], 10)


async def test_nothing_is_looked_at_after_the_end():
    """
    The connection's number may be another's by then.
    """
    unread, _, timers, struck = watched()
    unread.begin()
    unread.stop()
    timers.pass_until(1_000)

    assert struck == []
