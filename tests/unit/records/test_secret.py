"""
The secret that seeds digests.
"""

import pytest

from proxy.errors import StoreError
from proxy.records.memory import MemoryStore
from proxy.records.secret import load_secret
from proxy.records.settings import StoreSettings
from tests.support.stores import FakeClock


@pytest.fixture
def store():
    return MemoryStore(clock=FakeClock())


async def test_a_given_secret_is_used(store):
    """Replicas without a common store may be given one."""
    assert await load_secret(store, StoreSettings(secret="given")) == b"given"
    assert await store.get_fact("secret") is None


async def test_is_made_once_and_kept(store):
    """A restart finds the conversations it knew."""
    first = await load_secret(store, StoreSettings())

    assert len(first) == 32
    assert await load_secret(store, StoreSettings(), make=bytes) == first


async def test_a_store_that_cannot_be_written_still_tells_it(store):
    """A full disk must not cost the records that are on it."""
    made = await load_secret(store, StoreSettings())

    class Full(MemoryStore):
        get_fact = store.get_fact

        async def put_fact_once(self, name, value, ttl_seconds=None):
            raise StoreError("sqlite", "full")

    assert await load_secret(Full(clock=FakeClock()), StoreSettings()) == made


async def test_two_stores_have_two_secrets(store):
    """Nobody can guess one from another."""
    other = MemoryStore(clock=FakeClock())

    assert await load_secret(store, StoreSettings()) != await load_secret(other, StoreSettings())
