"""
Nothing readable at rest, and nothing lost but summaries with a wrong key.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from proxy.records.memory import MemoryStore
from proxy.records.open import open_store
from proxy.records.secret import load_secret
from proxy.records.settings import StoreSettings
from tests.support.stores import STORE_KEY, FakeClock, record, sealed

WRITTEN = record("k", summary="a summary of secrets", title="A telling title", session="session hint", client="c")
OTHER_KEY = "another key of enough characters"


@pytest.fixture
def inner():
    """The store underneath."""
    return MemoryStore(clock=FakeClock())


@pytest.fixture
def store(inner):
    """The same, sealed."""
    return sealed(inner)


async def test_what_people_wrote_is_not_readable_at_rest(inner, store):
    """Summaries, titles, hints and facts are sealed; what a store orders by is not."""
    await store.put(WRITTEN)
    await store.put_fact("f", b"a fact of secrets")
    (kept,) = (await inner.find(["d-k"]))["d-k"]

    for text in ("secrets", "telling", "hint"):
        assert text not in kept.to_bytes().decode()
        assert text not in str(inner._facts)
    assert (kept.digest, kept.cut, kept.created) == (WRITTEN.digest, WRITTEN.cut, WRITTEN.created)


async def test_what_was_written_comes_back(store):
    """By digest, by key, and among the newest."""
    await store.put(WRITTEN)

    assert (await store.find(["d-k"]))["d-k"] == (WRITTEN,)
    assert await store.get(["k"]) == {"k": WRITTEN}
    assert await store.recent(5) == [WRITTEN]


async def test_the_same_text_is_sealed_differently_each_time(inner, store):
    """Nobody can tell that two records say the same."""
    await store.put(WRITTEN)
    await store.put(replace(WRITTEN, key="l"))
    one, other = (await inner.find(["d-k"]))["d-k"]

    assert one.summary != other.summary


async def test_a_record_without_a_summary_comes_back_without(store):
    """Old results were stubbed, and nothing more."""
    bare = record("k", summary=None)
    await store.put(bare)

    assert await store.get(["k"]) == {"k": bare}


class TestWrongKey:
    async def test_its_records_count_as_absent(self, inner, store):
        """Fail open: the next compaction makes its own."""
        await store.put(WRITTEN)
        await store.put_fact("f", b"1")
        wrong = sealed(inner, OTHER_KEY)

        assert (await wrong.find(["d-k"]), await wrong.get(["k"]), await wrong.recent(5)) == ({}, {}, [])
        assert await wrong.get_fact("f") is None

    async def test_a_key_that_cannot_be_opened_is_taken_over(self, inner, store):
        """Else nothing could be kept under it until it expires."""
        await store.put(WRITTEN)
        wrong = sealed(inner, OTHER_KEY)
        stored = await wrong.put(replace(WRITTEN, summary="anew"))

        assert stored.summary == "anew"
        assert (await wrong.find(["d-k"]))["d-k"] == (stored,)

    async def test_the_secret_is_another_one(self, inner, store):
        """So that digests differ, and two users of one store with different keys never meet."""
        settings = StoreSettings()
        own = await load_secret(store, settings)
        others = await load_secret(sealed(inner, OTHER_KEY), settings)

        assert own != others
        assert await load_secret(store, settings) == own


@pytest.mark.parametrize("summary", ["plain text", None, "sealed:", "sealed:AAAA", "sealed:?", "sealed:" + "A" * 80])
async def test_what_was_not_sealed_with_the_key_is_not_believed(inner, store, summary):
    """Records from before the key was set, damaged ones, and ones that somebody put there."""
    await inner.put(replace(WRITTEN, summary=summary))

    assert await store.find(["d-k"]) == {}


async def test_a_seal_belongs_to_its_record(inner, store):
    """A summary that was moved to another record is not believed there."""
    await store.put(WRITTEN)
    (kept,) = (await inner.find(["d-k"]))["d-k"]
    await inner.put(replace(kept, key="l", digest="d-l"))

    assert await store.find(["d-l"]) == {}


async def test_a_damaged_fact_is_told_anew(inner, store):
    """The first writer wins only where there is something to read."""
    await store.put_fact("f", b"1")
    (name,) = inner._facts
    await inner.put_fact(name, b"damaged")

    assert await store.put_fact_once("f", b"2") == b"2"
    assert await store.get_fact("f") == b"2"


async def test_a_file_on_disk_holds_nothing_readable(tmp_path: Path):
    """The whole way from the settings to the bytes of the file, its log included."""
    pytest.importorskip("proxy.records.encryption", reason="the encryption extra is not installed")
    settings = StoreSettings(url=f"sqlite:///{tmp_path}/s.db", encryption_key=STORE_KEY)
    store = await open_store(settings, clock=FakeClock())
    await store.put(WRITTEN)
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    await store.close()
    again = await open_store(settings, clock=FakeClock())
    found = await again.find(["d-k"])
    await again.close()

    assert b"secrets" not in written
    assert b"telling" not in written
    assert found["d-k"] == (WRITTEN,)
