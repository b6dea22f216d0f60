"""
Two real processes on one port and one file: a summary is made once.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.conversations import chat_session

pytestmark = pytest.mark.slow
BODY = {"model": "sim-model", "messages": chat_session(13)}


async def test_fifty_identical_requests_at_once_cost_one_summary(
    upstream_factory: Any, serve_factory: Any, exact_counter: Any
) -> None:
    """
    Whichever worker takes them: one summary call, one body, fifty answers.
    """
    upstream = await upstream_factory(window=8_000, counter=exact_counter, summary_markers=("<record ",))
    compaction = {"threshold_tokens": 6_000, "prepare_at": None}
    served = await serve_factory(upstream.url, workers=2, compaction=compaction)
    where = await served.event("proxy.listening")
    served.url = f"http://{where['host']}:{where['port']}"
    await served.pids(2)
    answers = await asyncio.gather(*(served.post(BODY) for _ in range(50)))

    assert {status for status, _ in answers} == {200}
    assert len(upstream.summary_calls) == 1
    assert len({call.body for call in upstream.main_calls}) == 1
