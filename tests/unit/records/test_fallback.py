"""
What happens when the store does not work.
"""

import asyncio

import pytest

from proxy.errors import StoreError
from proxy.records.fallback import Patience
from tests.support.stores import UNHURRIED, FakeClock, FlakyStore, guarded, record

HASTY = Patience(read_seconds=0.05, write_seconds=0.05, open_seconds=0.1)


class Opening:
    """Opens one flaky store, or fails, and counts how often it was asked."""

    def __init__(self, clock):
        self.store = FlakyStore(clock=clock)
        self.fault = None
        self.asked = 0

    async def __call__(self):
        self.asked += 1
        if self.fault == "hangs":
            await asyncio.Event().wait()
        if self.fault:
            raise StoreError("flaky", self.fault)
        return self.store


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def opening(clock):
    return Opening(clock)


@pytest.fixture
async def store(opening, clock):
    return await guarded(opening, clock, patience=HASTY)


class TestOutage:
    @pytest.mark.parametrize("fault", ["down", "corrupted", "hangs"])
    async def test_requests_go_on_with_memory(self, store, opening, fault):
        """A record made during an outage is found during the outage."""
        opening.store.read_fault = opening.store.write_fault = fault
        await store.put(record("k"))

        assert "d-k" in await store.find(["d-k"])
        assert [each.key for each in await store.recent(3)] == ["k"]

    @pytest.mark.parametrize(("fault", "cause"), [("down", "down"), ("hangs", "slow")])
    async def test_names_the_cause(self, store, opening, fault, cause):
        """``/readyz`` says what is wrong, not only that something is."""
        opening.store.read_fault = fault
        await store.find(["d"])

        assert (store.healthy, store.describe().cause) == (False, cause)

    async def test_does_not_ask_again_at_once(self, store, opening):
        """While it pauses no request waits for a store that is known to be slow."""
        opening.store.read_fault = "hangs"
        await store.find(["d"])
        opening.store.read_fault = None
        await opening.store.put(record("k"))

        assert await store.find(["d-k"]) == {}

    async def test_facts_and_leases_go_on_too(self, store, opening):
        """Single-flight within the process still holds."""
        opening.store.read_fault = opening.store.write_fault = "down"
        await store.put_fact("f", b"1")

        assert await store.get_fact("f") == b"1"
        assert await store.put_fact_once("f", b"2") == b"1"
        assert await store.lease("k", 9)
        assert await store.lease("k", 9) is None

    async def test_deletes_from_memory_as_well(self, store, opening):
        """A record that must go goes everywhere it can."""
        opening.store.write_fault = "down"
        await store.put(record("k"))
        await store.delete("k")

        assert await store.find(["d-k"]) == {}

    async def test_a_foreign_error_is_not_swallowed(self, store, opening):
        """A bug of ours is no outage."""
        opening.store.find = None

        with pytest.raises(TypeError):
            await store.find(["d"])

    async def test_a_client_that_leaves_does_not_count_as_an_outage(self, store, opening):
        """Cancelling a look-up says nothing about the store."""
        opening.store.read_fault = "hangs"
        waiting = asyncio.ensure_future(store.find(["d"]))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

        assert store.healthy


class TestWritesAlone:
    @pytest.mark.parametrize("fault", ["full", "read-only"])
    async def test_a_store_that_takes_nothing_still_answers(self, store, opening, fault):
        """What it holds is found together with what memory took meanwhile."""
        await store.put(record("old"))
        opening.store.write_fault = fault
        await store.put(record("new"))

        assert (await store.find(["d-old", "d-new"])).keys() == {"d-old", "d-new"}
        assert (store.healthy, store.describe().cause) == (False, fault)

    async def test_tries_to_write_again_after_a_pause(self, store, opening, clock):
        """Once there is room it is healthy again, without being opened anew."""
        opening.store.write_fault = "full"
        await store.put(record("a"))
        opening.store.write_fault = None
        clock.advance(2)
        await store.put(record("b"))

        assert store.healthy
        assert "d-b" in await opening.store.find(["d-b"])
        assert opening.asked == 1

    async def test_a_damaged_file_found_by_a_write_is_opened_anew(self, store, opening, clock):
        """Damage concerns reads as well."""
        opening.store.write_fault = "corrupted"
        await store.put(record("a"))
        opening.store.write_fault = None
        clock.advance(2)
        await store.find(["d"])

        assert (opening.asked, opening.store.closed) == (2, True)


class TestRecovery:
    async def test_comes_back_by_itself(self, store, opening, clock):
        """After a pause the next request opens it again."""
        opening.store.read_fault = "down"
        await store.find(["d"])
        opening.store.read_fault = None
        clock.advance(2)
        await store.find(["d"])

        assert (store.healthy, opening.asked) == (True, 2)

    async def test_what_memory_took_is_still_found(self, store, opening, clock):
        """Coming back loses no record of the outage."""
        opening.store.read_fault = opening.store.write_fault = "down"
        await store.put(record("k"))
        opening.store.read_fault = opening.store.write_fault = None
        clock.advance(2)

        assert "d-k" in await store.find(["d-k"])

    async def test_bytes_that_have_gone_out_win(self, store, opening, clock):
        """Another worker's record under the same key does not change a running prefix."""
        opening.store.write_fault = "down"
        await store.put(record("k", summary="ours"))
        opening.store.write_fault = None
        await opening.store.put(record("k", summary="theirs"))

        assert [each.summary for each in (await store.find(["d-k"]))["d-k"]] == ["ours"]

    async def test_pauses_grow_up_to_a_minute(self, store, opening, clock):
        """A store that stays away is asked ever more rarely, but never given up."""
        opening.store.read_fault = opening.fault = "down"
        for _ in range(600):
            await store.find(["d"])
            clock.advance(1)

        assert 10 < opening.asked < 20

    async def test_many_requests_make_one_attempt(self, store, opening, clock):
        """Those that come while it is being opened go on with memory."""
        opening.store.read_fault = "down"
        await store.find(["d"])
        opening.fault = "hangs"
        clock.advance(2)
        await asyncio.gather(*(store.find(["d"]) for _ in range(20)))

        assert opening.asked == 2

    async def test_a_request_that_lost_its_store_blames_nobody(self, opening, clock):
        """The old connection is closed under a running write; the new one stays trusted."""
        store = await guarded(opening, clock, patience=UNHURRIED)
        old, opening.store = opening.store, FlakyStore(clock=clock)
        old.write_gate = asyncio.Event()
        old.write_fault = "closed"
        writing = asyncio.ensure_future(store.put(record("k")))
        await asyncio.sleep(0)
        old.read_fault = "down"
        await store.find(["d"])
        clock.advance(2)
        await store.find(["d"])
        old.write_gate.set()
        await writing

        assert (store.healthy, opening.asked) == (True, 2)

    async def test_a_slow_store_is_asked_before_it_is_trusted(self, store, opening, clock):
        """Closing it would wait behind whatever holds it up, so it is asked and kept."""
        opening.store.read_fault = "hangs"
        await store.find(["d"])
        clock.advance(2)
        await store.find(["d"])
        assert store.describe().cause == "slow"
        opening.store.read_fault = None
        clock.advance(10)
        await store.find(["d"])

        assert (store.healthy, opening.asked, opening.store.closed) == (True, 1, False)

    async def test_sweeping_brings_it_back_too(self, store, opening, clock):
        """A quiet proxy notices without a request."""
        opening.store.read_fault = "down"
        await store.find(["d"])
        opening.store.read_fault = None
        clock.advance(2)
        await store.sweep(clock())

        assert store.healthy


class TestStart:
    @pytest.mark.parametrize(("fault", "cause"), [("down", "down"), ("hangs", "slow")])
    async def test_begins_with_memory_alone(self, opening, clock, fault, cause):
        """A store that is away does not keep the proxy from starting."""
        opening.fault = fault
        store = await guarded(opening, clock, patience=HASTY)
        await store.put(record("k"))

        assert "d-k" in await store.find(["d-k"])
        assert (store.healthy, store.describe().kind, store.describe().cause) == (False, "fake", cause)

    async def test_closes_what_it_opened(self, store, opening):
        """Nothing stays open."""
        await store.close()

        assert opening.store.closed


class TestSlowOpening:
    async def test_an_opening_that_outlasts_a_request_is_adopted_at_its_end(self, clock):
        """Cut short it would leave a thread behind, and the next request would begin it anew."""
        gate = asyncio.Event()
        inner = FlakyStore(clock=clock)

        async def open_slowly():
            await gate.wait()
            return inner

        store = await guarded(open_slowly, clock, patience=Patience(read_seconds=0.01, open_seconds=0.05))
        await asyncio.sleep(0.02)
        assert not store.healthy
        store._patience = UNHURRIED
        clock.advance(2)
        asking = asyncio.ensure_future(store.find(["d"]))
        await asyncio.sleep(0.02)
        asking.cancel()
        gate.set()
        await asyncio.sleep(0.02)

        assert store.healthy
        await store.close()
        assert inner.closed

    async def test_closing_waits_for_an_opening_and_closes_what_it_opened(self, clock):
        """A process that ends while its store is being opened leaves nothing open."""
        gate = asyncio.Event()
        inner = FlakyStore(clock=clock)

        async def open_slowly():
            await gate.wait()
            return inner

        starting = asyncio.ensure_future(guarded(open_slowly, clock, patience=UNHURRIED))
        await asyncio.sleep(0)
        gate.set()
        store = await starting
        inner.read_fault = "down"
        await store.find(["d"])
        gate.clear()
        clock.advance(2)
        asking = asyncio.ensure_future(store.find(["d"]))
        await asyncio.sleep(0.02)
        closing = asyncio.ensure_future(store.close())
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(asking, closing)

        assert inner.closed
