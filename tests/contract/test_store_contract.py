"""
What every store promises, asked of each of them.
"""

import asyncio
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from proxy.errors import StoreError
from proxy.records.open import look_into_store
from proxy.records.settings import StoreSettings
from proxy.records.store import Caps
from tests.support.stores import Harness, RedisServer, opened, record

SHARED_KINDS = ["sqlite", "guarded", "sealed", pytest.param("redis", marks=pytest.mark.redis)]
KINDS = ["memory", *SHARED_KINDS]


@pytest.fixture(scope="module")
def redis_server():
    # A short path: socket names are limited to some hundred bytes.
    folder = Path(tempfile.mkdtemp(prefix="ct"))
    server = RedisServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)


@pytest.fixture(params=KINDS)
async def harness(request, tmp_path):
    if request.param != "redis":
        yield Harness(request.param, str(tmp_path / "store" / "state.db"))
        return
    redis = pytest.importorskip("redis.asyncio", reason="the redis extra is not installed")
    server = request.getfixturevalue("redis_server")
    yield Harness("redis", server.url)
    async with redis.Redis.from_url(server.url) as client:
        await client.flushall()


@pytest.fixture
async def store(harness):
    async with opened(harness) as store:
        yield store


class TestRecords:
    async def test_finds_what_was_put(self, store):
        """A record comes back whole by its digest."""
        made = record("k", edits=(), title="Tïtle", parent="p", created=5.0, before_tokens=9, pending=True)
        await store.put(made)

        assert await store.find(["d-k"]) == {"d-k": (made,)}

    async def test_finds_nothing_for_digests_it_does_not_know(self, store):
        """Digests without a record are left out of the answer."""
        await store.put(record("k"))

        assert await store.find(["x", "y"]) == {}

    async def test_finds_nothing_when_asked_for_nothing(self, store):
        """An empty question has an empty answer."""
        assert await store.find([]) == {}

    async def test_finds_many_digests_in_one_question(self, store):
        """A thousand and more digests are one question; one that is asked for twice is answered once."""
        await store.put(record("a"))
        await store.put(record("z"))

        found = await store.find(["d-a", *map(str, range(2_000)), "d-z", "d-a"])

        assert {digest: len(records) for digest, records in found.items()} == {"d-a": 1, "d-z": 1}

    async def test_keeps_several_records_of_one_digest_oldest_first(self, store):
        """Records made under other settings, or pending, share a digest."""
        for key, created in (("b", 3.0), ("a", 9.0), ("c", 1.0)):
            await store.put(record(key, "d", created=created))

        found = await store.find(["d"])

        assert [each.key for each in found["d"]] == ["c", "b", "a"]

    async def test_first_writer_of_a_key_wins(self, store):
        """The second writer is given what the first one stored."""
        first = await store.put(record("k", summary="first"))
        second = await store.put(record("k", summary="second"))

        assert (first.summary, second.summary) == ("first", "first")
        assert (await store.find(["d-k"]))["d-k"] == (first,)

    async def test_all_concurrent_writers_adopt_one_record(self, store):
        """Twenty writers at once end up with the same bytes."""
        stored = await asyncio.gather(*(store.put(record("k", summary=str(n))) for n in range(20)))

        assert len(set(stored)) == 1

    async def test_gets_records_by_their_keys(self, store):
        """Unknown keys are left out; a key may be asked for twice."""
        await store.put(record("a", "d"))
        await store.put(record("b", "d"))

        assert await store.get(["b", "x", "b"]) == {"b": record("b", "d")}
        assert await store.get([]) == {}

    async def test_getting_a_record_does_not_make_it_live_longer(self, harness):
        """People who look at sessions do not keep records alive that no client uses."""
        harness = replace(harness, caps=Caps(ttl_seconds=10.0))
        async with opened(harness) as store:
            await store.put(record("k"))
            await harness.pass_time(6)
            assert "k" in await store.get(["k"])
            await harness.pass_time(6)

            assert await store.get(["k"]) == {}

    async def test_deletes_one_record_and_leaves_its_siblings(self, store):
        """Deleting is by key, not by digest."""
        await store.put(record("a", "d"))
        await store.put(record("b", "d"))
        await store.delete("a")

        assert [each.key for each in (await store.find(["d"]))["d"]] == ["b"]

    async def test_takes_a_key_again_after_it_was_deleted(self, store):
        """A deleted key is free for the next writer."""
        await store.put(record("k", summary="old"))
        await store.delete("k")

        assert (await store.put(record("k", summary="new"))).summary == "new"

    async def test_deleting_what_is_not_there_does_nothing(self, store):
        """Two workers may delete the same record."""
        await store.delete("nobody")

        assert await store.recent(5) == []

    async def test_lists_the_newest_records_first(self, store):
        """The admin page asks for the last few."""
        for number in range(5):
            await store.put(record(str(number), created=float(number)))

        assert [each.key for each in await store.recent(3)] == ["4", "3", "2"]

    async def test_keeps_text_with_lone_surrogates(self, store):
        """A summary may quote text that no encoder accepts."""
        made = await store.put(record("k", summary="half \ud83d of a pair"))

        assert (await store.find(["d-k"]))["d-k"] == (made,)


class TestAge:
    async def test_forgets_a_record_that_nobody_used(self, harness, store):
        """After the time to live a record is gone, swept or not."""
        await store.put(record("k"))
        await harness.pass_time(harness.caps.ttl_seconds + 1)

        assert await store.find(["d-k"]) == {}
        assert await store.recent(5) == []

    async def test_keeps_a_record_that_is_used(self, harness, store):
        """Each use begins the time to live anew, sweeps in between or not."""
        await store.put(record("k"))
        for _ in range(3):
            await harness.pass_time(harness.caps.ttl_seconds * 0.7)
            assert "d-k" in await store.find(["d-k"])
            await store.sweep(harness.clock())

        assert "d-k" in await store.find(["d-k"])

    async def test_replaces_a_record_that_has_expired(self, harness, store):
        """An expired record does not win against a new writer."""
        await store.put(record("k", summary="old"))
        await harness.pass_time(harness.caps.ttl_seconds + 1)

        assert (await store.put(record("k", summary="new"))).summary == "new"
        assert (await store.find(["d-k"]))["d-k"][0].summary == "new"

    async def test_sweep_counts_what_it_removes(self, harness, store):
        """Sweeping removes the old and leaves the young."""
        for number in range(300):
            await store.put(record(f"old{number}"))
        await harness.pass_time(harness.caps.ttl_seconds - 10)
        await store.put(record("young"))
        await harness.pass_time(20)

        assert await store.sweep(harness.clock()) == 300
        assert [each.key for each in await store.recent(9)] == ["young"]


class TestSize:
    async def test_sweep_removes_the_least_recently_used_over_the_cap(self, harness):
        """What was used last stays; nothing goes that need not."""
        size = harness.size_of(record("a"))
        async with opened(replace(harness, caps=Caps(max_bytes=3 * size))) as store:
            for key in "abc":
                await store.put(record(key))
                await harness.pass_time(1)
            await store.find(["d-a"])
            await harness.pass_time(1)
            await store.put(record("d"))
            await store.sweep(harness.clock())

            assert {each.key for each in await store.recent(9)} == {"a", "c", "d"}

    async def test_a_full_store_still_takes_records(self, harness):
        """The cap makes room; it never refuses."""
        async with opened(replace(harness, caps=Caps(max_bytes=5_000))) as store:
            for number in range(100):
                await store.put(record(f"k{number}"))
                harness.clock.advance(1)
            await store.sweep(harness.clock())
            kept = await store.recent(200)

            assert sum(len(each.to_bytes()) for each in kept) <= 5_000
            assert "d-k99" in await store.find(["d-k99"])


class TestFacts:
    async def test_returns_what_was_told_last(self, store):
        """Facts may be replaced."""
        await store.put_fact("window", b"1")
        await store.put_fact("window", b"\x00\xff")

        assert await store.get_fact("window") == b"\x00\xff"

    async def test_knows_nothing_it_was_not_told(self, store):
        """An unknown fact is nothing."""
        assert await store.get_fact("window") is None

    async def test_forgets_a_fact_after_its_time(self, harness, store):
        """Learned limits expire."""
        await store.put_fact("limit", b"8192", 60)
        await harness.pass_time(59)
        assert await store.get_fact("limit") == b"8192"
        await harness.pass_time(2)

        assert await store.get_fact("limit") is None

    async def test_keeps_lasting_facts_through_a_sweep(self, harness, store):
        """The secret outlives every record."""
        await store.put_fact("secret", b"s")
        await harness.pass_time(harness.caps.ttl_seconds * 9)
        await store.sweep(harness.clock())

        assert await store.get_fact("secret") == b"s"

    async def test_first_teller_wins_where_asked_to(self, store):
        """Replicas that start together share one secret."""
        told = await asyncio.gather(*(store.put_fact_once("secret", bytes([n])) for n in range(9)))

        assert set(told) == {await store.get_fact("secret")}

    async def test_tells_an_expired_fact_anew(self, harness, store):
        """An expired fact does not win against a new teller."""
        await store.put_fact_once("f", b"old", 5)
        await harness.pass_time(6)

        assert await store.put_fact_once("f", b"new", 5) == b"new"
        assert await store.get_fact("f") == b"new"


class TestLeases:
    async def test_only_one_holds_a_lease(self, store):
        """Of ten that ask at once, one gets it."""
        leases = await asyncio.gather(*(store.lease("k", 30) for _ in range(10)))

        assert sum(lease is not None for lease in leases) == 1

    async def test_leases_of_other_keys_are_free(self, store):
        """Conversations do not wait for each other."""
        await store.lease("a", 30)

        assert await store.lease("b", 30) is not None

    async def test_a_released_lease_can_be_taken(self, store):
        """Whoever is done lets the next one in."""
        lease = await store.lease("k", 30)
        await store.release(lease)

        assert await store.lease("k", 30) is not None

    async def test_a_lease_expires(self, harness, store):
        """A holder that died does not block others for ever."""
        await store.lease("k", 30)
        await harness.pass_time(31)

        assert await store.lease("k", 30) is not None

    async def test_a_renewed_lease_holds_on(self, harness, store):
        """A holder that still works is not overtaken."""
        lease = await store.lease("k", 30)
        await harness.pass_time(20)
        assert await store.renew(lease, 30)
        await harness.pass_time(20)

        assert await store.lease("k", 30) is None

    async def test_a_lost_lease_cannot_be_renewed(self, harness, store):
        """A holder that slept learns that its time is over, whether another took over or not."""
        late = await store.lease("k", 30)
        await harness.pass_time(40)
        assert not await store.renew(late, 30)
        successor = await store.lease("k", 30)

        assert not await store.renew(late, 30)
        assert await store.renew(successor, 30)

    async def test_a_late_holder_cannot_release_the_lease_of_its_successor(self, harness, store):
        """Releasing asks for the token, not the key."""
        late = await store.lease("k", 30)
        await harness.pass_time(31)
        await store.lease("k", 30)
        await store.release(late)

        assert await store.lease("k", 30) is None


@pytest.mark.parametrize("harness", SHARED_KINDS, indirect=True)
class TestTwoWorkers:
    async def test_workers_see_and_respect_each_other(self, harness):
        """Records, facts and leases of one worker count for the other."""
        async with opened(harness) as one, opened(harness) as other:
            await one.put(record("k", summary="first"))
            await one.put_fact("f", b"1")
            lease = await one.lease("k", 30)

            assert (await other.put(record("k", summary="second"))).summary == "first"
            assert await other.put_fact_once("f", b"2") == b"1"
            assert lease
            assert await other.lease("k", 30) is None

    async def test_survives_closing_and_opening(self, harness):
        """What was kept is there after a restart."""
        async with opened(harness) as store:
            await store.put(record("k"))
        async with opened(harness) as store:
            assert "d-k" in await store.find(["d-k"])


async def looked_into(harness):
    """
    Return the same store as a verb sees it that only tells of it.
    """
    url = harness.place if harness.kind == "redis" else f"sqlite:///{harness.place}"
    return await look_into_store(StoreSettings(url=url), clock=harness.clock)


@pytest.mark.parametrize("harness", ["sqlite", pytest.param("redis", marks=pytest.mark.redis)], indirect=True)
class TestLookedInto:
    async def test_tells_all_and_keeps_what_is_written_to_itself(self, harness):
        """Who explains goes through the same steps as a proxy, and none of them counts."""
        async with opened(harness) as store:
            await store.put(record("k", summary="first"))
            await store.put_fact("f", b"1")
        looked = await looked_into(harness)
        assert (await looked.find(["d-k"])).keys() == {"d-k"}
        assert (await looked.get(["k"])).keys() == {"k"}
        assert [each.key for each in await looked.recent(9)] == ["k"]
        assert await looked.put_fact_once("f", b"2") == b"1"
        assert (await looked.put(record("k", summary="second"))).summary == "first"
        await looked.put_fact("f", b"3")
        await looked.put(record("n"))
        await looked.delete("k")
        await looked.sweep(harness.clock() + 1e9)
        assert await looked.lease("l", 30)
        assert await looked.get_fact("f") == b"3"
        await looked.close()

        async with opened(harness) as store:
            assert (await store.get(["k", "n"])).keys() == {"k"}
            assert await store.get_fact("f") == b"1"
            assert await store.lease("l", 30)

    async def test_what_is_looked_at_lives_no_longer(self, harness):
        """Otherwise a script that lists sessions each day would keep for ever what nobody resumes."""
        async with opened(harness) as store:
            await store.put(record("k"))
            await harness.pass_time(harness.caps.ttl_seconds * 0.6)
            looked = await looked_into(harness)
            assert await looked.find(["d-k"])
            await looked.close()
            await harness.pass_time(harness.caps.ttl_seconds * 0.6)

            assert await store.find(["d-k"]) == {}


class TestState:
    async def test_a_working_store_is_healthy_and_says_what_it_is(self, store):
        """``/readyz`` names the store."""
        state = store.describe()

        assert (store.healthy, state.healthy, state.cause) == (True, True, "")
        assert state.kind in {"memory", "sqlite", "redis"}

    @pytest.mark.parametrize("harness", ["sqlite"], indirect=True)
    async def test_a_closed_store_raises_store_errors_alone(self, harness):
        """Foreign errors are translated at the border."""
        store = await harness.open()
        await store.close()

        with pytest.raises(StoreError):
            await store.find(["d"])
