"""
Real sizes of earlier turns, here and in other processes.
"""

from types import SimpleNamespace

import pytest

from proxy.pipeline.anchors import Anchors
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.memory import MemoryStore
from proxy.tokens.calibration import Anchor
from tests.support.stores import FakeClock, FlakyStore

EXCHANGE = SimpleNamespace(party=SimpleNamespace(upstream="up"))
TURN = tuple("abcdef")
NEXT = tuple("abcdefgh")


@pytest.fixture
def tasks() -> TaskKeeper:
    """
    What runs in the background.
    """
    return TaskKeeper()


@pytest.fixture
def store() -> MemoryStore:
    """
    The store that processes share.
    """
    return FlakyStore(clock=FakeClock())


async def test_the_next_turn_begins_at_the_real_size_of_the_last(store, tasks) -> None:
    """
    With the number of rows that it covers.
    """
    anchors = Anchors(store, tasks)
    anchors.remember(EXCHANGE, "m", TURN, Anchor(90, 100))

    assert anchors.of(EXCHANGE, "m", NEXT) == (Anchor(90, 100), 6)
    assert anchors.of(EXCHANGE, "other", NEXT) == (None, 0)


@pytest.mark.parametrize("keep", [True, False])
async def test_another_process_knows_what_was_kept(store, tasks, keep: bool) -> None:
    """
    And nothing else: most turns are far from any threshold.
    """
    Anchors(store, tasks).remember(EXCHANGE, "m", TURN, Anchor(90, 100), keep=keep)
    await tasks.settled()
    found = await Anchors(store, tasks).found(EXCHANGE, "m", NEXT)

    assert found == ((Anchor(90, 100), 6) if keep else (None, 0))


async def test_a_fork_is_not_given_the_size_of_its_sibling(store, tasks) -> None:
    """
    They have their first rows in common, and one place in the store.
    """
    Anchors(store, tasks).remember(EXCHANGE, "m", TURN, Anchor(90, 100), keep=True)
    await tasks.settled()

    assert await Anchors(store, tasks).found(EXCHANGE, "m", tuple("abcdXY")) == (None, 0)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"[1]", b'["f", "x", 1]', b"7"])
async def test_what_cannot_be_read_is_no_anchor(store, tasks, raw: bytes) -> None:
    """
    The estimate then allows for more error, and that is all.
    """

    async def damaged(_name: str) -> bytes:
        return raw

    store.get_fact = damaged

    assert await Anchors(store, tasks).found(EXCHANGE, "m", NEXT) == (None, 0)


async def test_a_store_that_fails_costs_the_anchor_alone(store, tasks) -> None:
    """
    Reading and writing.
    """
    store.read_fault = store.write_fault = "down"
    anchors = Anchors(store, tasks)
    anchors.remember(EXCHANGE, "m", TURN, Anchor(90, 100), keep=True)
    await tasks.settled()

    assert await anchors.found(EXCHANGE, "m", tuple("xyz")) == (None, 0)
    assert await anchors.found(EXCHANGE, "m", NEXT) == (Anchor(90, 100), 6)
