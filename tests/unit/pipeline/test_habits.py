"""
What is known of the ends of conversations, by one process and by those beside it.
"""

import pytest

from proxy.pipeline.conversations import Identity, beginning
from proxy.pipeline.habits import ENDS, Habits
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.identity import prefix_digests
from proxy.records.memory import MemoryStore
from proxy.telemetry.metrics import Metrics
from tests.support.conversations import user
from tests.support.stores import FakeClock, FlakyStore

TURNS = ("abcdFu", "abcdefGv", "abcdefghHw", "abcdefghijIx")
"""Histories, a letter a row, of which the last two rows are other ones each turn."""


class Process:
    """
    One process on a store.
    """

    def __init__(self, store: MemoryStore) -> None:
        self.tasks = TaskKeeper()
        self.habits = Habits(store, self.tasks, metrics=Metrics(), clock=FakeClock())

    async def turn(self, rows: str) -> int:
        """
        Look a history up; return how many rows at its end will change.
        """
        found = await self.habits.looked_up(identity(rows), ())
        await self.tasks.settled()
        return found


def identity(rows: str) -> Identity:
    return Identity(prefix_digests([user(row) for row in rows], seed=b"s"), "scope", "m", client="c", route="r")


@pytest.fixture
def store() -> FlakyStore:
    return FlakyStore(clock=FakeClock())


async def test_what_one_learned_another_knows_at_its_first_turn(store: FlakyStore) -> None:
    """
    Also one that begins later, as after a restart.
    """
    one = Process(store)
    assert [await one.turn(rows) for rows in TURNS[:3]] == [0, 0, 2]

    assert await Process(store).turn(TURNS[3]) == 2


async def test_one_that_runs_already_asks_when_an_end_changes(store: FlakyStore) -> None:
    """
    It asked once, when nobody knew anything.
    """
    one, other = Process(store), Process(store)
    assert await other.turn(TURNS[0]) == 0
    for rows in TURNS[:3]:
        await one.turn(rows)
    assert await other.turn(TURNS[2]) == 0

    # The same once more tells nothing by itself.
    assert await other.turn(TURNS[2]) == 2


async def test_a_habit_that_ended_is_told_as_well(store: FlakyStore) -> None:
    """
    Nobody goes by it for ever.
    """
    one = Process(store)
    for rows in (*TURNS[:3], "abcdefghHwx", "abcdefghHwxy", "abcdefghHwxyz"):
        await one.turn(rows)

    assert await Process(store).turn("abcdefghHwxyz1") == 0


async def test_other_conversations_of_the_client_are_not_taken_for_it(store: FlakyStore) -> None:
    """
    What is told belongs to the first rows of one.
    """
    one = Process(store)
    for rows in TURNS:
        await one.turn(rows)

    assert await Process(store).turn("zyxwvu") == 0


@pytest.mark.parametrize("damage", [b"", b"x", b"-1", b"99", b"[2]", b"2.5"])
async def test_what_is_no_number_of_rows_tells_nothing(store: FlakyStore, damage: bytes) -> None:
    """
    A store may be damaged, or written by a later version.
    """
    await store.put_fact(ENDS + beginning(identity(TURNS[0]).digests), damage)

    assert await Process(store).turn(TURNS[0]) == 0


async def test_without_a_store_each_learns_by_itself(store: FlakyStore) -> None:
    """
    And a history that is too short to be told from others asks nobody.
    """
    store.read_fault = store.write_fault = "down"
    one = Process(store)

    assert [await one.turn(rows) for rows in ("ab", *TURNS)] == [0, 0, 0, 2, 2]
