"""
When a failing store is asked again.
"""

import asyncio

import pytest

from proxy.errors import StoreError
from proxy.records.breaker import Breaker, within
from tests.support.stores import FakeClock


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def breaker(clock):
    return Breaker(clock)


def pause_of(breaker, clock):
    begun = clock.now
    while breaker.is_open:
        clock.advance(0.5)
    return clock.now - begun


def test_is_closed_at_first(breaker):
    """A store is trusted until it fails."""
    assert (breaker.is_open, breaker.cause) == (False, "")


def test_each_failure_doubles_the_pause_up_to_a_minute(breaker, clock):
    """The longer it is away, the more rarely it is asked."""
    pauses = []
    for _ in range(8):
        breaker.trip("down")
        pauses.append(pause_of(breaker, clock))

    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


def test_keeps_the_cause_until_it_is_well(breaker, clock):
    """The pause may be over while the cause is not."""
    breaker.trip("full")
    clock.advance(5)

    assert (breaker.is_open, breaker.cause) == (False, "full")


def test_begins_anew_after_success(breaker, clock):
    """Old failures do not lengthen new pauses."""
    for _ in range(4):
        breaker.trip("down")
    breaker.reset()
    assert (breaker.is_open, breaker.cause) == (False, "")
    breaker.trip("down")

    assert pause_of(breaker, clock) == 1


async def test_an_answer_in_time_is_passed_on():
    """Waiting adds nothing to an answer."""
    assert await within(5, asyncio.sleep(0, "answer")) == "answer"


async def test_an_answer_too_late_is_a_slow_store():
    """Nobody waits longer than they said."""
    with pytest.raises(StoreError) as caught:
        await within(0.001, asyncio.Event().wait())

    assert caught.value.cause == "slow"
