"""
Real sessions of real agents, replayed turn by turn against the strict simulator.

They hold user rows, tool results and arguments larger than a small window, call ids used twice, and user-user rows.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.replay import FILES, Judged, replay, shared_conversations

WINDOWS = (8_192, 32_768, 131_072)
SAMPLE = [("tau_airline_single", 0), ("sweagent", 0), ("openhands", 1), ("bfcl_replay", 0), ("crosswoz_zh", 0)]


async def replayed(
    conversation: dict[str, Any], window: int, *, upstream_factory: Any, proxy_factory: Any, counter: Any
) -> Judged:
    """
    Replay one conversation at one window; alternation is judged against what the client itself keeps.
    """
    upstream = await upstream_factory(
        window=window, counter=counter, alternation="as_client", summary_markers=("<record ",)
    )
    proxied = await proxy_factory(
        upstream.url,
        upstream={"context_window": window, "discover": False},
        compaction={"prepare_at": None},
        log={"level": "error"},
    )
    return await replay(conversation, upstream, proxied, model="sim-model")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "index"), SAMPLE)
async def test_carries_a_sample_of_real_sessions(
    name: str, index: int, upstream_factory: Any, proxy_factory: Any, exact_counter: Any
) -> None:
    """
    No failure, no refused call, no illegal request, and every prefix stable between compactions.
    """
    conversation = shared_conversations(name)[index]

    judged = await replayed(
        conversation, 8_192, upstream_factory=upstream_factory, proxy_factory=proxy_factory, counter=exact_counter
    )

    assert (judged.failures, judged.illegal, judged.unstable, judged.refused) == ([], [], [], 0)
    assert judged.compactions > 0


@pytest.mark.whole
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", FILES)
async def test_carries_every_real_session(
    name: str, window: int, upstream_factory: Any, proxy_factory: Any, exact_counter: Any
) -> None:
    """
    The same for every conversation of the study, at windows of 8K, 32K and 128K.
    """
    for conversation in shared_conversations(name):
        judged = await replayed(
            conversation, window, upstream_factory=upstream_factory, proxy_factory=proxy_factory, counter=exact_counter
        )

        assert (judged.failures, judged.illegal, judged.unstable, judged.refused) == ([], [], [], 0)
