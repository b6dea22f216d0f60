"""
The next record is made while nobody waits, every time.
"""

from __future__ import annotations

from typing import Any

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
