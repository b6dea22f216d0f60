"""
What only the store in memory does.
"""

from proxy.records import memory
from proxy.records.memory import MemoryStore
from proxy.records.store import Caps
from tests.support.stores import FakeClock, record

SIZE = len(record("a").to_bytes())


async def test_never_takes_more_than_its_cap():
    """It makes room at once, since nobody may ever sweep it."""
    store = MemoryStore(clock=FakeClock(), caps=Caps(max_bytes=2 * SIZE))
    for key in "abcd":
        await store.put(record(key))

    assert store.describe().figures == {"records": 2, "bytes": 2 * SIZE}


async def test_least_recently_used_go_first():
    """A conversation that goes on keeps its record."""
    store = MemoryStore(clock=FakeClock(), caps=Caps(max_bytes=2 * SIZE))
    await store.put(record("a"))
    await store.put(record("b"))
    await store.find(["d-a"])
    await store.put(record("c"))

    assert (await store.find(["d-a", "d-b", "d-c"])).keys() == {"d-a", "d-c"}


async def test_a_record_larger_than_the_cap_is_not_kept():
    """It is given back all the same, so that the request goes on."""
    store = MemoryStore(clock=FakeClock(), caps=Caps(max_bytes=10))
    made = record("a")

    assert await store.put(made) == made
    assert store.describe().figures == {"records": 0, "bytes": 0}


async def test_facts_are_capped_and_lasting_ones_stay(monkeypatch):
    """Learned limits of many clients cannot push the secret out."""
    monkeypatch.setattr(memory, "MAX_FACTS", 3)
    store = MemoryStore(clock=FakeClock())
    await store.put_fact("secret", b"s")
    for number in range(9):
        await store.put_fact(str(number), b"x", 60)

    assert await store.get_fact("secret") == b"s"
    assert [await store.get_fact(str(number)) for number in (6, 7, 8)] == [None, b"x", b"x"]
