"""
A real Redis that dies and comes back.
"""

import shutil
import tempfile
from pathlib import Path

import pytest

from proxy.errors import StoreError
from proxy.records.open import open_store
from proxy.records.settings import StoreSettings
from tests.support.stores import UNHURRIED, FakeClock, Harness, RedisServer, opened, record

pytestmark = [pytest.mark.redis, pytest.mark.slow]


@pytest.fixture
def server():
    folder = Path(tempfile.mkdtemp(prefix="ct"))
    server = RedisServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)


async def test_requests_go_on_and_it_comes_back(server):
    """Killed under a running proxy, it costs records, not requests; restarted, it is used again."""
    clock = FakeClock()
    store = await open_store(StoreSettings(url=server.url), clock=clock, patience=UNHURRIED)
    assert store.healthy
    server.kill()
    await store.put(record("during"))
    assert "d-during" in await store.find(["d-during"])
    assert (store.healthy, store.describe().cause) == (False, "down")
    server.start()
    clock.advance(5)
    await store.put(record("after"))
    found = await store.find(["d-during", "d-after"])
    healthy = store.healthy
    await store.close()

    assert (healthy, found.keys()) == (True, {"d-during", "d-after"})


@pytest.mark.parametrize(
    ("command", "cause"), [("CONFIG SET maxmemory 1", "full"), ("REPLICAOF 127.0.0.1 1", "read-only")]
)
async def test_names_what_keeps_it_from_writing(server, command, cause):
    """A full server and a replica still answer look-ups."""
    async with opened(Harness("redis", server.url)) as store:
        await store.put(record("k"))
        await store._client.execute_command(*command.split())
        if cause == "read-only":
            await store._client.execute_command("CONFIG", "SET", "replica-serve-stale-data", "yes")
        with pytest.raises(StoreError) as caught:
            await store.put(record("other"))

        assert caught.value.cause == cause
        assert "d-k" in await store.find(["d-k"])


async def test_a_record_that_cannot_be_read_counts_as_absent(server):
    """One damaged record does not hold its key for ever."""
    async with opened(Harness("redis", server.url)) as store:
        await store.put(record("k"))
        await store._client.hset("concertina:d:d-k", "k", b"{")

        assert await store.find(["d-k"]) == {}
        assert (await store.put(record("k", summary="again"))).summary == "again"
        assert "d-k" in await store.find(["d-k"])


async def test_a_look_up_is_one_round_trip(server):
    """However many digests a request has."""
    async with opened(Harness("redis", server.url)) as store:
        await store.put(record("k"))
        await store.find(["d-k"])
        sent = []
        execute = store._client.execute_command

        async def counted(*words, **options):
            sent.append(words[0])
            return await execute(*words, **options)

        store._client.execute_command = counted
        found = await store.find([*map(str, range(1_000)), "d-k"])

    assert (found.keys(), sent) == ({"d-k"}, ["EVALSHA"])
