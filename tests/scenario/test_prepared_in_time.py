"""
The next record is made while nobody waits, every time.
"""

from __future__ import annotations

import asyncio
from typing import Any

from proxy.simulator.steps import answer, gated, repeat, when
from tests.support.conversations import long_session


async def test_no_compaction_waits_for_a_summary_that_could_be_prepared(
    upstream_factory: Any, proxy_factory: Any, exact_counter: Any
) -> None:
    """
    Each compaction takes up what was prepared after an earlier answer: also the second, and all that follow.

    A prepared record that had been taken up once counted as waiting, so every other compaction made a client wait.
    """
    upstream = await upstream_factory(window=8_000, counter=exact_counter, summary_markers=("<record ",))
    proxied = await proxy_factory(
        upstream.url,
        upstream={"context_window": 8_000, "discover": False},
        compaction={"threshold_tokens": 6_000, "prepare_at": 0.80},
    )
    compactions = waited = 0

    for rows in long_session(36):
        before = len(upstream.summary_calls)
        reply = await proxied.chat(rows)
        compactions += reply.action == "compacted"
        during = upstream.summary_calls[before:]
        waited += any(call.number < upstream.main_calls[-1].number for call in during)
        await proxied.proxy.core.tasks.settled()

    assert compactions >= 3
    assert waited == 0


async def test_a_conversation_that_grows_while_its_next_record_is_prepared_prepares_no_second_one(
    upstream_factory: Any, proxy_factory: Any, exact_counter: Any
) -> None:
    """
    A slow summariser is asked once, however many turns pass meanwhile; each turn once started a preparation of its own.
    """
    upstream, proxied, gate = await slow_world(upstream_factory, proxy_factory, exact_counter)

    for rows in long_session(36):
        if (await proxied.chat(rows)).action == "compacted":
            break
    asked = len(upstream.summary_calls)
    gate.set()
    await proxied.proxy.core.tasks.settled()

    assert asked == 1


async def test_a_compaction_waits_for_the_record_that_is_being_prepared(
    upstream_factory: Any, proxy_factory: Any, exact_counter: Any
) -> None:
    """
    It takes up what an earlier turn began, and asks for no summary of nearly the same rows.
    """
    upstream, proxied, gate = await slow_world(upstream_factory, proxy_factory, exact_counter, wait="20s")
    turns = iter(long_session(36))
    while not upstream.summary_calls:
        await proxied.chat(next(turns))
        # The summary's call needs a turn of the loop to leave.
        await asyncio.sleep(0.02)

    while True:
        waiting = asyncio.ensure_future(proxied.chat(next(turns)))
        done, _ = await asyncio.wait({waiting}, timeout=0.5)
        if not done:
            break
        assert waiting.result().action != "compacted"
    gate.set()
    reply = await waiting

    assert reply.action == "compacted"
    assert len(upstream.summary_calls) == 1
    assert "prepared while nobody waited" in str(upstream.main_calls[-1].messages)


async def slow_world(
    upstream_factory: Any, proxy_factory: Any, counter: Any, wait: str = "50ms"
) -> tuple[Any, Any, asyncio.Event]:
    """
    Start a proxy whose summariser answers once the gate is open.
    """
    gate = asyncio.Event()
    upstream = await upstream_factory(window=8_000, counter=counter, summary_markers=("<record ",))
    text = "## Goal\nRepair the parser. This was prepared while nobody waited.\n## Progress\nsrc/part_1.py was read."
    upstream.will(repeat(9, when(gated(gate, answer(text)), summary=True)))
    proxied = await proxy_factory(
        upstream.url,
        upstream={"context_window": 8_000, "discover": False},
        compaction={"threshold_tokens": 6_000, "prepare_at": 0.70, "summarizer": {"wait": wait}},
    )
    return upstream, proxied, gate
