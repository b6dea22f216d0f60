"""
No record and no learned number made for one credential serves another, unless the store is shared.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from proxy.simulator.steps import gated, repeat, when
from tests.support.conversations import assistant, chat_session, user
from tests.support.worlds import SUMMARY, texts

BIG = chat_session(13)
MORE = [*BIG, assistant("ok"), user("and the rest?")]


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def summary_of(world: Any) -> str:
    """
    Return which summary was sent; the simulator numbers them.
    """
    return texts(world.sent).partition(SUMMARY)[2][:1]


class TestCredentials:
    """
    Whoever presents another credential is another client.
    """

    @pytest.mark.parametrize("name", ["authorization", "api-key", "x-api-key"])
    async def test_the_same_conversation_never_shares_records(self, world_factory: Any, name: str) -> None:
        """
        Two keys, one conversation: a summary each, made with the own key.
        """
        world = await world_factory()
        seen = []
        for key in ("one", "two", "one", "two"):
            await world.chat(BIG, headers={"authorization": "", name: f"Bearer {key}"})
            seen.append(summary_of(world))

        assert (seen[0] == seen[2], seen[1] == seen[3], seen[0] != seen[1]) == (True, True, True)
        assert {call.header(name) for call in world.upstream.summary_calls} == {"Bearer one", "Bearer two"}

    async def test_a_shared_namespace_shares_records(self, world_factory: Any) -> None:
        """
        With namespace shared the second client resumes the first one's.
        """
        world = await world_factory(store={"url": "memory://", "namespace": "shared"})
        first = await world.chat(BIG, headers=bearer("one"))
        asked = len(world.upstream.summary_calls)
        second = await world.chat(BIG, headers=bearer("two"))

        assert (first.action, second.action) == ("compacted", "reused")
        assert len(world.upstream.summary_calls) == asked

    async def test_running_summaries_are_not_shared(self, world_factory: Any) -> None:
        """
        Two clients at the same moment: each waits for its own.
        """
        world = await world_factory()
        await asyncio.gather(*(world.proxied.chat(BIG, headers=bearer(key)) for key in ("one", "two")))

        keys = [call.header("authorization") for call in world.upstream.summary_calls]
        assert set(keys) == {"Bearer one", "Bearer two"}

    async def test_limits_are_learned_for_one_credential(self, world_factory: Any) -> None:
        """
        What one client's refusal taught, another client's requests do not obey.
        """
        world = await world_factory(blind=True)
        observe = {"x-concertina-mode": "observe"}
        await world.chat(chat_session(16), headers=bearer("one"))
        one = await world.chat(BIG[:4], headers={**observe, **bearer("one")})
        two = await world.chat(BIG[:4], headers={**observe, **bearer("two")})

        assert one.headers["x-concertina-tokens"].endswith("window=8000")
        assert two.headers["x-concertina-tokens"].endswith("window=128000")

    async def test_routes_keep_apart(self, world_factory: Any) -> None:
        """
        A record belongs to the route and model it was made for.
        """
        world = await world_factory(
            routes=[{"name": "other", "upstream": "sim", "match": {"path": "/other/*"}, "strip": "/other"}]
        )
        await world.chat(BIG)
        base = world.proxied.url
        world.proxied.url = base.replace("/v1", "/other/v1")
        reply = await world.chat(BIG)

        assert (reply.status, reply.action) == (200, "compacted")


class TestSingleFlight:
    """
    Many requests for one stretch of conversation wait for one summary.
    """

    async def test_concurrent_requests_share_one_summary(self, world_factory: Any) -> None:
        """
        Six copies at once: the model is asked as often as for one, and all get the same bytes.
        """
        alone = await world_factory()
        await alone.chat(BIG)
        world = await world_factory()
        replies = await asyncio.gather(*(world.proxied.chat(BIG) for _ in range(6)))

        assert [reply.status for reply in replies] == [200] * 6
        assert len({call.body for call in world.upstream.main_calls}) == 1
        assert len(world.upstream.summary_calls) == len(alone.upstream.summary_calls)

    async def test_a_client_that_leaves_does_not_kill_a_summary_that_others_wait_for(self, world_factory: Any) -> None:
        """
        Its own request ends at once; the other gets the summary, and nothing leaks.
        """
        gate = asyncio.Event()
        world = await world_factory()
        world.upstream.will(repeat(2, when(gated(gate), summary=True)))
        edge = world.proxied.proxy.edge
        leaving = asyncio.ensure_future(world.proxied.chat(BIG))
        await world.upstream.until(lambda: world.upstream.summary_calls)
        staying = asyncio.ensure_future(world.proxied.chat(BIG))
        while edge.inflight < 2:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        leaving.cancel()
        while edge.inflight > 1:
            await asyncio.sleep(0.01)
        gate.set()
        reply = await staying

        assert (reply.status, reply.action) == (200, "compacted")
        assert len(world.upstream.summary_calls) == 1
        await asyncio.wait_for(edge.idle.wait(), 5)


class TestState:
    """
    A compaction is a cache entry: losing it costs one summary, keeping it none.
    """

    async def test_losing_the_store_costs_one_compaction(self, world_factory: Any) -> None:
        """
        A new process with an empty store folds anew, and goes on.
        """
        world = await world_factory()
        await world.chat(BIG)
        asked = len(world.upstream.summary_calls)
        for record in await world.proxied.proxy.core.store.recent(100):
            await world.proxied.proxy.core.store.delete(record.key)
        second = await world.chat(MORE)
        third = await world.chat([*MORE, assistant("ok"), user("more")])

        assert (second.action, third.action) == ("compacted", "reused")
        assert len(world.upstream.summary_calls) <= 2 * asked

    async def test_a_restart_with_sqlite_costs_none(self, world_factory: Any, tmp_path: Path) -> None:
        """
        Another process on the same file sends the same bytes.
        """
        store = {"url": f"sqlite:///{tmp_path}/state.db"}
        first = await world_factory(store=store)
        await first.chat(BIG)
        before = first.sent.messages
        await first.proxied.listening.stop()
        await first.proxied.proxy.close()
        second = await world_factory(store=store)
        reply = await second.chat(MORE)

        assert (reply.action, second.upstream.summary_calls) == ("reused", [])
        assert second.sent.messages[: len(before)] == before

    async def test_what_was_learned_survives_a_restart(self, world_factory: Any, tmp_path: Path) -> None:
        """
        A stated limit costs one refusal, not one a process.
        """
        store = {"url": f"sqlite:///{tmp_path}/state.db"}
        first = await world_factory(blind=True, store=store)
        await first.chat(chat_session(16))
        await first.proxied.listening.stop()
        await first.proxied.proxy.close()
        # Facts belong to an upstream's name, model and credential, so the port may differ.
        second = await world_factory(blind=True, store=store)
        reply = await second.chat([*chat_session(16)[:1], user("anew"), assistant("yes"), *chat_session(16)[1:]])

        assert (reply.status, [call.status for call in second.calls]) == (200, [200])
