"""
An agent's session far past the window, carried by the proxy.
"""

from __future__ import annotations

from typing import Any

import pytest

from proxy.simulator.prefix import prefix_breaks
from tests.support.conversations import long_session

WINDOW = 8_000
THRESHOLD = 6_000


@pytest.mark.parametrize(("prepare_at", "calls", "breaks"), [(None, 4, 4), (0.90, 5, 5)])
async def test_carries_36_rounds_in_one_window(
    upstream_factory: Any, proxy_factory: Any, exact_counter: Any, prepare_at: float | None, calls: int, breaks: int
) -> None:
    """
    36 requests, each a tool round longer, all answered, few summaries, the prefix stable, the task always there.
    """
    upstream = await upstream_factory(
        window=WINDOW,
        counter=exact_counter,
        summary_markers=("<record ",),
        summary_tokens=400,
        alternation="on",
        open_calls_at_end=False,
    )
    proxied = await proxy_factory(
        upstream.url,
        upstream={"context_window": WINDOW},
        compaction={"threshold_tokens": THRESHOLD, "prepare_at": prepare_at},
    )
    session = long_session(36)
    task = session[0][1]["content"]
    for rows in session:
        reply = await proxied.chat(rows)
        print(reply.status, reply.action, reply.headers.get("x-concertina-tokens"), len(rows))
        await proxied.proxy.core.tasks.settled()

        assert reply.status == 200

    sent = [call.messages for call in upstream.main_calls]
    summary_tokens = sum(call.prompt_tokens for call in upstream.summary_calls)
    print(len(upstream.summary_calls), summary_tokens, prefix_breaks(sent))

    assert [call.status for call in upstream.received] == [200] * len(upstream.received)
    assert sum(any(task in str(row["content"]) for row in rows) for rows in sent) == 36
    assert len(upstream.summary_calls) <= calls
    assert prefix_breaks(sent) <= breaks
    if prepare_at is None:
        assert summary_tokens <= 17_000
