"""
Pages beside the records.
"""

import pytest

from proxy.records.memory import MemoryStore
from proxy.records.shelf import Shelf, without_pages
from tests.support.stores import FakeClock, record


@pytest.fixture
def store():
    """A store without pages."""
    return MemoryStore(clock=FakeClock())


async def test_a_page_comes_back(store):
    """Any JSON, by the key of its record; kinds are kept apart."""
    shelf = Shelf(store)
    await shelf.put("archive", "k", {"rows": ["ä" * 5_000]})
    await shelf.put("view", "k", [1])

    assert await shelf.get("archive", ["k", "unknown"]) == {"k": {"rows": ["ä" * 5_000]}}
    assert await shelf.get("view", ["k"]) == {"k": [1]}


async def test_pages_are_small_and_push_no_record_out_of_the_newest(store):
    """Compressed, and behind all records in time."""
    await store.put(record("old", created=1.0))
    await Shelf(store).put("archive", "k", ["the same words " * 10_000])
    newest, page = await store.recent(2)

    assert newest.key == "old"
    assert len(page.to_bytes()) < 5_000
    assert without_pages([newest, page]) == [newest]


async def test_a_damaged_page_is_left_out(store):
    """Like one that is gone."""
    await store.put(record("archive:k", scope="archive", summary="damaged"))

    assert await Shelf(store).get("archive", ["k"]) == {}
