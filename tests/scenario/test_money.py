"""
Tokens and money before and after, as the proxy's books have them.
"""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from proxy.simulator.steps import answer, empty_stream
from tests.support.conversations import chat_session, long_session

OVER = chat_session(9)
SMALL = chat_session(2)
FREE_READS = {"prices": {"input": 2.0, "output": 8.0, "cached": 0.2}}


async def books(world: Any, admin: Any) -> dict[str, float]:
    """
    Return the sums of the one model.
    """
    await world.proxied.proxy.core.tasks.settled()
    return dict((await admin.get("/api/stats"))["models"]["default"]["sim-model"])


async def test_what_was_not_compacted_costs_what_it_costs(world_factory: Any, admin_factory: Any) -> None:
    """
    Before and after are the same to the last digit, and are what the upstream counted.
    """
    world = await world_factory(models={"sim-*": FREE_READS})
    admin = await admin_factory(world.proxied.proxy.admin)
    for _ in range(3):
        await world.chat(SMALL)
    sums = await books(world, admin)

    calls = world.upstream.main_calls
    assert sums["before_tokens"] == sums["prompt_tokens"] == sum(call.prompt_tokens for call in calls)
    assert sums["before_cost"] == sums["after_cost"] > 0
    assert (sums["exchanges"], sums["folded"]) == (3, 0)


async def test_a_compaction_tells_what_it_removed_and_what_the_summary_cost(
    world_factory: Any, admin_factory: Any
) -> None:
    """
    The history is counted at its real size, and each call that wrote a summary is on the bill.
    """
    world = await world_factory(models={"sim-*": FREE_READS})
    admin = await admin_factory(world.proxied.proxy.admin)
    await world.chat(OVER)
    sums = await books(world, admin)
    (summary,) = world.upstream.summary_calls
    whole = world.proxied.proxy.core.counter.messages(OVER)

    assert sums["prompt_tokens"] == world.sent.prompt_tokens
    assert sums["before_tokens"] == pytest.approx(whole, rel=0.1)
    assert (sums["summary_calls"], sums["summary_prompt_tokens"]) == (1, summary.prompt_tokens)
    assert sums["summary_cost"] == pytest.approx(
        (summary.prompt_tokens * 2.0 + sums["summary_completion_tokens"] * 8.0) / 1_000_000
    )
    assert sums["after_cost"] < sums["before_cost"]


async def test_the_net_effect_of_a_session_is_told_even_where_it_is_negative(
    world_factory: Any, admin_factory: Any
) -> None:
    """
    An upstream whose cached tokens are nearly free: the summaries cost more than they save.
    """
    world = await world_factory(
        models={"sim-*": {"prices": {"input": 2.0, "output": 8.0, "cached": 0.0}}},
        compaction={"threshold_tokens": 3_000},
    )
    admin = await admin_factory(world.proxied.proxy.admin)
    for rows in long_session(16):
        await world.chat(rows)
    sums = await books(world, admin)

    print(sums)
    assert sums["cached_tokens"] > 0
    assert sums["folded"] > 0
    assert sums["before_tokens"] > sums["prompt_tokens"]
    assert sums["before_cost"] - sums["after_cost"] - sums["summary_cost"] < 0


async def test_history_beyond_the_window_claims_no_saving(world_factory: Any, admin_factory: Any) -> None:
    """
    Without the proxy it would have been refused.
    """
    world = await world_factory(models={"sim-*": FREE_READS})
    admin = await admin_factory(world.proxied.proxy.admin)
    await world.chat(chat_session(16))
    sums = await books(world, admin)

    assert (sums["beyond_window"], sums["before_cost"]) == (1, sums["after_cost"])
    assert sums["before_tokens"] > 8_000


async def test_a_model_without_a_price_is_counted_as_such(world_factory: Any, admin_factory: Any) -> None:
    """
    Tokens are told all the same; no number is made up.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    await world.chat(SMALL)
    sums = await books(world, admin)
    (event,) = (await admin.get("/api/exchanges"))["exchanges"]

    assert (sums["unpriced"], "after_cost" in sums, "after_cost" in event) == (1, False, False)


async def test_opentelemetry_has_names_for_some_of_it(world_factory: Any, admin_factory: Any) -> None:
    """
    Sizes and times of answered and of failed exchanges.
    """
    world = await world_factory(compaction={"mode": "observe"})
    admin = await admin_factory(world.proxied.proxy.admin)
    await world.chat(SMALL)
    await world.chat(chat_session(16))
    text = (await admin.ask("/metrics")).body.decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    counted = {
        (
            sample.name,
            sample.labels["gen_ai_request_model"],
            sample.labels.get("gen_ai_token_type"),
            sample.labels.get("error_type"),
        ): sample.value
        for sample in samples
        if sample.name.startswith("gen_ai_") and sample.name.endswith(("_count", "_sum"))
    }
    usage, duration = "gen_ai_client_token_usage", "gen_ai_client_operation_duration_seconds"

    assert counted[f"{usage}_sum", "sim-model", "input", None] == world.upstream.main_calls[0].prompt_tokens
    assert counted[f"{usage}_count", "sim-model", "output", None] == 1
    assert counted[f"{duration}_count", "sim-model", None, ""] == 1
    assert counted[f"{duration}_count", "sim-model", None, "400"] == 1


async def test_the_first_token_of_each_stream_is_timed(world_factory: Any, admin_factory: Any) -> None:
    """
    In a metric and in the event; an answer in one piece, and a stream that says nothing, have no first token.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    world.upstream.will(answer("hello there"), answer("hello there"), empty_stream())
    for stream in (False, True, True):
        await world.chat(SMALL, stream=stream)
    text = (await admin.ask("/metrics")).body.decode()
    (family,) = (
        family
        for family in text_string_to_metric_families(text)
        if family.name == "gen_ai_server_time_to_first_token_seconds"
    )
    (count,) = (sample for sample in family.samples if sample.name.endswith("_count"))
    events = (await admin.get("/api/exchanges"))["exchanges"]

    assert (count.labels, count.value) == ({"gen_ai_request_model": "sim-model"}, 1)
    assert ["first_token_seconds" in event for event in reversed(events)] == [False, True, False]


async def test_prometheus_has_the_same_numbers(world_factory: Any, admin_factory: Any) -> None:
    """
    By route, model and kind.
    """
    world = await world_factory(models={"sim-*": FREE_READS})
    admin = await admin_factory(world.proxied.proxy.admin)
    await world.chat(OVER)
    sums = await books(world, admin)
    families = {
        family.name: {
            sample.labels["kind"]: sample.value for sample in family.samples if sample.name.endswith("_total")
        }
        for family in text_string_to_metric_families((await admin.ask("/metrics")).body.decode())
        if family.name in {"concertina_tokens", "concertina_cost_dollars"}
    }

    assert families["concertina_tokens"] == {
        kind: sums[f"{kind}_tokens"]
        for kind in ("before", "prompt", "completion", "summary_prompt", "summary_completion")
    }
    assert families["concertina_cost_dollars"] == pytest.approx(
        {kind: sums[f"{kind}_cost"] for kind in ("before", "after", "summary")}
    )
