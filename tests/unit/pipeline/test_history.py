"""
What people are told of past conversations.
"""

import pytest

from proxy.pipeline.history import History
from proxy.records.memory import MemoryStore
from tests.support.stores import FakeClock, record


@pytest.fixture
async def store() -> MemoryStore:
    """
    A conversation of four sessions, and another one.
    """
    store = MemoryStore(clock=FakeClock())
    parent = None
    for number, key in enumerate("abcd"):
        await store.put(record(key, parent=parent, created=float(number), depth=number, title="Fix the login bug"))
        parent = key
    await store.put(record("other", created=9.0))
    return store


@pytest.fixture
def history(store: MemoryStore) -> History:
    """
    Reads that store.
    """
    return History(store, clock=FakeClock(), ttl_seconds=1e6)


async def test_newest_sessions_come_first_and_know_their_number(history: History) -> None:
    """
    A chain is counted from its beginning, also where only its end is asked for.
    """
    found = await history.sessions(2)

    assert [(session.id, session.number) for session in found] == [("other", 1), ("d", 4)]
    assert found[1].title == "Fix the login bug (4)"


async def test_a_session_tells_its_lineage_and_how_it_ended(history: History) -> None:
    """
    What came after it ended it.
    """
    detail = await history.session("c")

    assert detail is not None
    assert [session.id for session in detail.lineage] == ["a", "b", "c"]
    assert (detail.session.reason, detail.record.key) == ("compaction", "c")


async def test_an_unknown_session_is_none(history: History) -> None:
    """
    No error: it may have expired a moment ago.
    """
    assert await history.session("nobody") is None


async def test_looking_changes_nothing(store: MemoryStore, history: History) -> None:
    """
    Sessions that people look at expire like others.
    """
    before = dict(store._kept)
    await history.sessions()
    await history.session("c")

    assert store._kept == before


async def test_a_record_that_waits_is_no_session(store: MemoryStore, history: History) -> None:
    """
    It was made in the background and may never be used.
    """
    await store.put(record("p", parent="d", created=5.0, pending=True))

    assert await history.session("p") is None
    assert "p" not in {session.id for session in await history.sessions()}
