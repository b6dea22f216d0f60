"""
What is known of models: within bounds, whatever names clients make up, and read anew by each process.
"""

import asyncio
from types import SimpleNamespace

from proxy.pipeline.knowledge import MOST_LIMITS, Knowledge
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.memory import MemoryStore
from proxy.upstream.settings import UpstreamSettings
from proxy.windows.learned import BYTES, Claim
from tests.support.stores import FakeClock

EXCHANGE = SimpleNamespace(
    party=SimpleNamespace(upstream="up", credential="c"), recovery=SimpleNamespace(limit_ttl=3_600.0)
)


class SlowToAnswer(MemoryStore):
    """
    A store far away: facts come after the gate has opened.
    """

    def __init__(self, *, clock: FakeClock) -> None:
        super().__init__(clock=clock)
        self.gate = asyncio.Event()

    async def get_fact(self, name: str) -> bytes | None:
        await self.gate.wait()
        return await super().get_fact(name)


async def test_what_an_earlier_process_learned_is_read_once_for_all_who_wait_for_it() -> None:
    """
    Nobody plans without it: not who comes while it is read, nor when the one for whom it was read leaves.
    """
    clock = FakeClock()
    store, tasks = SlowToAnswer(clock=clock), TaskKeeper()

    async def silent(*_: object) -> None:
        return None

    upstreams = {"up": UpstreamSettings(base_url="http://127.0.0.1/v1")}
    before, after = (Knowledge(upstreams, {}, discover=silent, store=store, tasks=tasks, clock=clock) for _ in range(2))
    before.learn_limit(EXCHANGE, "m", Claim(8_000, "c", prompt=9_000, window=128_000))
    await tasks.settled()
    leaving, staying = (asyncio.ensure_future(after.window(EXCHANGE, "m")) for _ in range(2))
    await asyncio.sleep(0)
    early = await after.basis(EXCHANGE, "m")
    leaving.cancel()
    await asyncio.sleep(0)
    store.gate.set()

    assert early is None
    assert (await staying).tokens == 8_000
    assert (await after.window(EXCHANGE, "m")).tokens == 8_000
    assert await after.basis(EXCHANGE, "m") is not None


async def test_an_answer_that_changes_no_limit_leaves_conclusions_as_they_are() -> None:
    """
    Most answers only tell of a larger prompt than before, where no limit was ever stated.
    """
    clock = FakeClock()

    async def silent(*_: object) -> None:
        return None

    knowledge = Knowledge(
        {"up": UpstreamSettings(base_url="http://127.0.0.1/v1")},
        {},
        discover=silent,
        store=MemoryStore(clock=clock),
        tasks=TaskKeeper(),
        clock=clock,
    )
    await knowledge.window(EXCHANGE, "m")
    first = await knowledge.basis(EXCHANGE, "m")
    knowledge.accept(EXCHANGE, "m", 5_000)
    same = await knowledge.basis(EXCHANGE, "m")
    knowledge.learn_limit(EXCHANGE, "m", Claim(8_000, "c", prompt=9_000, window=128_000))

    assert first is not None
    assert first == same
    assert same != await knowledge.basis(EXCHANGE, "m")


async def test_conclusions_end_with_the_limit_they_stood_on() -> None:
    """
    Behind one that expires there may be a smaller one, on which two others agree.
    """
    clock = FakeClock()

    async def silent(*_: object) -> None:
        return None

    upstreams = {"up": UpstreamSettings(base_url="http://127.0.0.1/v1")}
    knowledge = Knowledge(
        upstreams, {}, discover=silent, store=MemoryStore(clock=clock), tasks=TaskKeeper(), clock=clock
    )
    await knowledge.window(EXCHANGE, "m")
    knowledge.learn_limit(EXCHANGE, "m", Claim(50_000, "c", prompt=90_000, window=128_000))
    clock.now += 3_000
    for other in ("a", "b"):
        knowledge.learn_limit(EXCHANGE, "m", Claim(20_000, other, prompt=90_000, window=128_000))
    before = (await knowledge.window(EXCHANGE, "m")).tokens, await knowledge.basis(EXCHANGE, "m")
    clock.now += 1_000
    after = (await knowledge.window(EXCHANGE, "m")).tokens, await knowledge.basis(EXCHANGE, "m")

    assert (before[0], after[0]) == (50_000, 20_000)
    assert before[1] != after[1]


async def test_the_sizes_that_were_accepted_are_forgotten_with_the_models_longest_unheard_of() -> None:
    """
    An upstream that answers under any name must not fill our memory; what every answer is about stays.
    """
    clock = FakeClock()
    knowledge = Knowledge(
        {}, {}, discover=lambda *_: None, store=MemoryStore(clock=clock), tasks=TaskKeeper(), clock=clock
    )
    for number in range(MOST_LIMITS):
        knowledge.accept(EXCHANGE, f"model-{number}", 5_000)
        knowledge.accept(EXCHANGE, BYTES, 20_000)
    known = [knowledge.largest_accepted(EXCHANGE, name) for name in ("model-0", f"model-{MOST_LIMITS - 1}", BYTES)]

    assert known == [0, 5_000, 20_000]
