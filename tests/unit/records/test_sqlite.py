"""
What only the SQLite store does.
"""

import sqlite3
from contextlib import closing

import pytest

from proxy.errors import StoreError
from proxy.records.sqlite import SqliteStore
from proxy.records.store import Caps
from tests.support.stores import UNHURRIED, FakeClock, guarded, record


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.db"


@pytest.fixture
async def store(path, clock):
    store = await SqliteStore.open(path, clock=clock)
    yield store
    await store.close()


def ruin(path, statement):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("pragma", "cause"), [("PRAGMA max_page_count = 1", "full"), ("PRAGMA query_only = 1", "read-only")]
)
async def test_names_what_keeps_it_from_writing(store, pragma, cause):
    """A full disk and a read-only one are told apart, and reading goes on."""
    await store.put(record("a"))
    await store._rows(pragma)

    with pytest.raises(StoreError) as caught:
        await store.put(record("b", summary="x" * 50_000))
    assert caught.value.cause == cause
    assert "d-a" in await store.find(["d-a"])


async def test_a_writer_that_never_ends_makes_it_busy(store, path):
    """Another process holds the file: an error, never a wait without end."""
    await store._rows("PRAGMA busy_timeout = 1")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(StoreError) as caught:
            await store.put(record("a"))
        assert caught.value.cause == "busy"


async def test_a_record_that_cannot_be_read_counts_as_absent(store, path):
    """One damaged record does not hide its siblings, nor hold its key for ever."""
    await store.put(record("a", "d"))
    await store.put(record("b", "d"))
    ruin(path, "UPDATE records SET body = x'7b' WHERE key = 'a'")

    assert [each.key for each in (await store.find(["d"]))["d"]] == ["b"]
    assert (await store.put(record("a", "d", summary="again"))).summary == "again"
    assert len((await store.find(["d"]))["d"]) == 2


async def test_keeps_near_its_cap_without_being_swept(path, clock):
    """Between sweeps its own writes pass the cap by a sixteenth at most."""
    store = await SqliteStore.open(path, clock=clock, caps=Caps(max_bytes=160_000))
    for number in range(100):
        await store.put(record(str(number), summary="x" * 5_000))
        clock.advance(1)
    ((total,),) = await store._rows("SELECT sum(size) FROM records")
    await store.close()

    assert 100_000 < total <= 175_000


async def test_gives_space_back(path, clock):
    """The file shrinks after a sweep."""
    store = await SqliteStore.open(path, clock=clock)
    for number in range(50):
        await store.put(record(str(number), summary="x" * 20_000))
    ((before,),) = await store._rows("PRAGMA page_count")
    clock.advance(store._caps.ttl_seconds + 1)
    await store.sweep(clock())
    ((after,),) = await store._rows("PRAGMA page_count")
    await store.close()

    assert after < before / 5


async def test_a_file_damaged_while_it_runs_is_replaced(path, clock):
    """The guard goes on with memory, moves the damaged file aside and is healthy again."""
    store = await guarded(lambda: SqliteStore.open(path, clock=clock), clock, patience=UNHURRIED)
    await store.put(record("a"))
    ruin(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    path.write_bytes(b"\xa5" * path.stat().st_size)
    assert await store.find(["d-a"]) == {}
    assert store.describe().cause == "corrupted"
    clock.advance(2)
    await store.put(record("b"))
    found = await store.find(["d-b"])
    state = store.describe()
    await store.close()

    assert (state.healthy, state.kind, found.keys()) == (True, "sqlite", {"d-b"})
    assert path.with_name("state.db.corrupt").exists()
