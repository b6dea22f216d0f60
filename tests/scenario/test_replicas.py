"""
Several replicas on one store behave as one: one summary a stretch, stable bytes, and nobody sees another's text.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest

from proxy.chat.json import dumps
from proxy.simulator.steps import gated, repeat, status, when
from tests.support.conversations import assistant, chat_session, user
from tests.support.proxied import Proxied
from tests.support.replicas import Crowd, Talk, reciting, secrets_in
from tests.support.stores import UNHURRIED
from tests.support.worlds import texts

BIG = chat_session(13)
MORE = [*BIG, assistant("ok"), user("and the rest?")]
SLOW_HOOK = """
import time

def on_pre_compress(messages):
    time.sleep(2.0)
"""
SETTINGS: dict[str, Any] = {"threshold_tokens": 6_000, "prepare_at": None}


@pytest.fixture
def replicas(proxy_factory: Any) -> Any:
    """
    Start replicas on one store, in front of one upstream.
    """

    async def start(upstream: Any, store: str, *, count: int = 2, app: Any = (), **compaction: Any) -> list[Proxied]:
        started = [
            await proxy_factory(
                upstream.url,
                upstream={"context_window": 8_000, "discover": False},
                store={"url": store},
                compaction={**SETTINGS, **compaction},
                **dict(app),
            )
            for _ in range(count)
        ]
        for replica in started:
            # All of them share one event loop here: that it is busy says nothing of the store.
            replica.proxy.core.store._patience = UNHURRIED
        return started

    return start


@pytest.fixture
async def upstream(upstream_factory: Any, exact_counter: Any) -> Any:
    """
    A small model.
    """
    return await upstream_factory(window=8_000, counter=exact_counter, summary_markers=("<record ",))


async def settled(replicas: list[Proxied]) -> list[int]:
    """
    Wait until nothing runs in the background, and return how many tasks are left but for the lasting ones.
    """
    for replica in replicas:
        await replica.proxy.core.tasks.settled()
    return [len(replica.proxy.core.tasks._passing()) for replica in replicas]


class TestSingleFlight:
    """
    Whoever needs the same summary at the same time gets one.
    """

    async def test_fifty_identical_requests_cost_one_summary(
        self, upstream: Any, replicas: Any, shared_store: str
    ) -> None:
        """
        On two replicas at once: one call, one body.
        """
        both = await replicas(upstream, shared_store)
        replies = await asyncio.gather(*(both[number % 2].chat(BIG) for number in range(50)))

        assert {reply.status for reply in replies} == {200}
        assert len(upstream.summary_calls) == 1
        assert len({call.body for call in upstream.main_calls}) == 1

    @pytest.mark.parametrize("seed", range(3))
    async def test_random_cancels_among_them_change_nothing(
        self, upstream: Any, replicas: Any, shared_store: str, seed: int
    ) -> None:
        """
        Half of the clients leave, also those that came first: still one call, and no task is left behind.
        """
        gate, random = asyncio.Event(), Random(seed)
        upstream.will(repeat(9, when(gated(gate), summary=True)))
        both = await replicas(upstream, shared_store)
        asking = [asyncio.ensure_future(both[number % 2].chat(BIG)) for number in range(50)]
        await upstream.until(lambda: upstream.summary_calls)
        leaving = random.sample(asking, 25)
        for client in leaving:
            client.cancel()
        gate.set()
        results = await asyncio.gather(*asking, return_exceptions=True)
        left = await settled(both)

        assert [result.status for result in results if not isinstance(result, BaseException)] == [200] * 25
        assert (len(upstream.summary_calls), left) == (1, [0, 0])
        assert len({call.body for call in upstream.main_calls}) == 1
        assert [replica.proxy.edge.inflight for replica in both] == [0, 0]

    async def test_the_maker_goes_on_for_those_who_wait_elsewhere(
        self, upstream: Any, replicas: Any, shared_store: str
    ) -> None:
        """
        All its own clients leave, one waits on the other replica: one call, and that one gets its bytes.
        """
        gate = asyncio.Event()
        upstream.will(repeat(9, when(gated(gate), summary=True)))
        both = await replicas(upstream, shared_store)
        leaving = [asyncio.ensure_future(both[0].chat(BIG)) for _ in range(3)]
        await upstream.until(lambda: upstream.summary_calls)
        staying = asyncio.ensure_future(both[1].chat(BIG))
        while not any(task.get_name() == "summary" for task in both[1].proxy.core.tasks._tasks):
            await asyncio.sleep(0.01)
        for client in leaving:
            client.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)
        await both[0].proxy.edge.idle.wait()
        await asyncio.sleep(0.3)
        gate.set()
        reply = await staying
        left = await settled(both)

        assert (reply.status, reply.action, len(upstream.summary_calls), left) == (200, "compacted", 1, [0, 0])

    async def test_a_summary_that_nobody_waits_for_any_more_is_stopped(
        self, upstream: Any, replicas: Any, shared_store: str
    ) -> None:
        """
        On no replica: the call is given up, nothing is left, and the next request begins anew.
        """
        gate = asyncio.Event()
        upstream.will(when(gated(gate), summary=True))
        both = await replicas(upstream, shared_store)
        leaving = [asyncio.ensure_future(both[0].chat(BIG)) for _ in range(3)]
        await upstream.until(lambda: upstream.summary_calls)
        for client in leaving:
            client.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)
        await upstream.until(lambda: upstream.summary_calls[0].cancelled)
        left = await settled(both)
        reply = await both[1].chat(BIG)

        assert (left, reply.status, reply.action, len(upstream.summary_calls)) == ([0, 0], 200, "compacted", 2)

    async def test_a_failure_is_shared(self, upstream: Any, replicas: Any, shared_store: str) -> None:
        """
        One call that fails, and the deterministic summary for all: the same bytes everywhere.
        """
        upstream.will(repeat(50, when(status(500), summary=True)))
        both = await replicas(upstream, shared_store)
        replies = await asyncio.gather(*(both[number % 2].chat(BIG) for number in range(20)))

        assert {reply.status for reply in replies} == {200}
        assert len(upstream.summary_calls) == 1
        assert len({call.body for call in upstream.main_calls}) == 1

    async def test_a_compaction_waits_for_what_another_replica_prepares(
        self, upstream: Any, replicas: Any, shared_store: str
    ) -> None:
        """
        It takes up that record instead of buying a second summary of nearly the same rows.
        """
        gate = asyncio.Event()
        upstream.will(repeat(9, when(gated(gate), summary=True)))
        one, other = await replicas(upstream, shared_store, prepare_at=0.5)
        await one.chat(BIG[:-12])
        await upstream.until(lambda: upstream.summary_calls)
        waiting = asyncio.ensure_future(other.chat(BIG[:-8]))
        done, _ = await asyncio.wait({waiting}, timeout=0.3)
        gate.set()
        reply = await waiting

        assert (done, reply.status, reply.action) == (set(), 200, "compacted")
        assert len(upstream.summary_calls) == 1

    async def test_a_preparation_that_takes_longer_than_a_summary_may_is_still_the_only_one(
        self, upstream: Any, replicas: Any, shared_store: str, tmp_path: Path
    ) -> None:
        """
        What goes before the summary takes its time too: the lease once ended with the time of the summary alone.
        """
        (tmp_path / "slow.py").write_text(SLOW_HOOK)
        one, other = await replicas(
            upstream,
            shared_store,
            app={"plugins_dir": str(tmp_path)},
            prepare_at=0.5,
            hook_timeout="20s",
            summarizer={"timeout": "1s"},
        )
        await one.chat(BIG[:-12])
        await asyncio.sleep(1.3)
        await other.chat(BIG[:-10])
        await settled([one, other])

        assert {len(call.messages) for call in upstream.main_calls} == {len(BIG) - 12, len(BIG) - 10}
        assert len(upstream.summary_calls) == 1


class TestSharedState:
    """
    What one replica knows, all know.
    """

    async def test_another_replica_resumes_the_very_bytes(
        self, upstream: Any, replicas: Any, shared_store: str
    ) -> None:
        """
        Turn by turn on another replica, and no second summary.
        """
        both = await replicas(upstream, shared_store)
        first = await both[0].chat(BIG)
        before = upstream.main_calls[-1].messages
        second = await both[1].chat(MORE)

        assert (first.action, second.action, len(upstream.summary_calls)) == ("compacted", "reused", 1)
        assert upstream.main_calls[-1].messages[: len(before)] == before

    async def test_replicas_that_begin_together_share_the_secret(
        self, upstream: Any, replicas: Any, shared_store: str
    ) -> None:
        """
        Else none would find what the others keep.
        """
        three = await replicas(upstream, shared_store, count=3)

        assert len({replica.proxy.core.secret for replica in three}) == 1


@pytest.mark.slow
@pytest.mark.redis
@pytest.mark.parametrize("prepare_at", [None, 0.8])
async def test_two_hundred_conversations_never_mix(
    upstream_factory: Any, exact_counter: Any, replicas: Any, redis_server: Any, prepare_at: float | None
) -> None:
    """
    Two replicas, one Redis, 200 conversations at random, half of them forks of others.

    One summary a stretch; under one record every turn extends the one before (a fork may take over what its sibling
    folded of their common beginning); and no conversation ever shows a secret that its client did not send.
    """
    upstream = await upstream_factory(window=6_000, counter=exact_counter, summary_markers=("<record ",))
    upstream.will(reciting(2_000))
    both = await replicas(
        upstream, redis_server.url, threshold_tokens=2_000, minimum_threshold_tokens=0, prepare_at=prepare_at
    )
    world = _Crowded(both, upstream, Random(7))
    await world.run(conversations=200, turns=9)
    await settled(both)

    assert world.statuses == {200}
    assert world.leaks == []
    assert world.breaks == []
    assert world.compactions >= 200
    summaries = [call.body for call in upstream.summary_calls]
    assert len(summaries) == len(set(summaries))


class _Crowded:
    """
    Drives the crowd and keeps the books.
    """

    def __init__(self, replicas: list[Proxied], upstream: Any, random: Random) -> None:
        self.replicas = replicas
        self.upstream = upstream
        self.random = random
        self.statuses: set[int] = set()
        self.leaks: list[str] = []
        self.breaks: list[str] = []
        self.compactions = 0
        self._last: dict[str, tuple[str, list[bytes]]] = {}

    async def run(self, *, conversations: int, turns: int) -> None:
        """
        Let half of the conversations begin, the others fork from them, and all go on at random.
        """
        half = conversations // 2
        crowd = Crowd(self.random, talks=[Talk(f"A{number}") for number in range(half)])
        await self._turns(crowd, list(range(half)) * (turns // 2))
        for number in range(half):
            crowd.talks.append(crowd.talks[number].forked(f"B{number}"))
            self._last[f"B{number}"] = self._last[f"A{number}"]
        await self._turns(crowd, list(range(conversations)) * (turns - turns // 2))

    async def _turns(self, crowd: Crowd, order: list[int]) -> None:
        self.random.shuffle(order)
        while order:
            # Each conversation once at a time, as clients do; the rest waits for the next round.
            now = list(dict.fromkeys(order[:24]))
            rest = order[:24]
            for number in now:
                rest.remove(number)
            order = rest + order[24:]
            await asyncio.gather(*(self._turn(crowd.grow(number)) for number in now))

    async def _turn(self, talk: Talk) -> None:
        replica = self.random.choice(self.replicas)
        turn = f"{talk.name}.{talk.turns}"
        reply = await replica.chat(talk.messages, headers={"x-turn": turn})
        calls = reversed(self.upstream.received)
        call = next(call for call in calls if call.header("x-turn") == turn and not call.is_summary_call)
        self.statuses.add(reply.status)
        self.compactions += reply.action == "compacted"
        if foreign := secrets_in(texts(call)) - talk.own:
            self.leaks.append(f"{talk.name} was sent {sorted(foreign)}")
        sent = [dumps(row) for row in call.messages]
        record = reply.headers.get("x-concertina-record", "")
        under, before = self._last.get(talk.name, (record, []))
        if record == under and sent[: len(before)] != before:
            self.breaks.append(f"{talk.name} turn {talk.turns}: {reply.action}")
        self._last[talk.name] = (record, sent)
