"""
The window is the server's own: found out before it is needed, kept over restarts, and told to people.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proxy.pipeline.diagnosis import models_to_ask
from proxy.pipeline.settings import MatchSettings, RouteSettings
from proxy.upstream.discovery import Page
from tests.support.conversations import long_session

ROWS = long_session(14)[-1]
"""About 9,000 tokens."""
FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length", "meta.n_ctx", None)
QUICK = {"prepare_at": None, "summarizer": {"kind": "extractive"}, "minimum_threshold_tokens": 1}
BEARER = (("authorization", "Bearer client-key"),)


@pytest.mark.parametrize("field", FIELDS)
async def test_the_very_first_request_knows_the_window_of_its_server(
    upstream_factory: Any, proxy_factory: Any, exact_counter: Any, field: str | None
) -> None:
    """
    A long history meets a small server that it was never sent to before: it is compacted, not refused.
    """
    stated = {"native_window": True} if field is None else {"models_field": field}
    upstream = await upstream_factory(window=8_000, counter=exact_counter, **stated)
    proxied = await proxy_factory(upstream.url, compaction=QUICK)

    reply = await proxied.chat(ROWS)

    assert (reply.status, reply.action) == (200, "compacted")
    assert reply.headers["x-concertina-tokens"].endswith("window=8000")
    assert len(upstream.main_calls) == 1


async def test_a_server_that_lists_its_models_to_its_users_is_asked_with_the_users_key(
    upstream_factory: Any, proxy_factory: Any, exact_counter: Any
) -> None:
    """
    Hosted servers show nothing without a key, and the client has one.
    """
    upstream = await upstream_factory(
        window=8_000, counter=exact_counter, models_field="context_window", api_keys=("client-key",)
    )
    proxied = await proxy_factory(upstream.url, compaction=QUICK)

    assert (await proxied.chat(ROWS)).headers["x-concertina-tokens"].endswith("window=8000")


async def test_what_was_learned_of_tokens_outlives_the_process(
    upstream_factory: Any, proxy_factory: Any, exact_counter: Any, tmp_path: Path
) -> None:
    """
    Six answers teach the ratio of a model; the next process begins with it.
    """
    store = {"url": f"sqlite:///{tmp_path / 'state.db'}", "secret": "s" * 32}
    upstream = await upstream_factory(counter=exact_counter, token_ratio=1.5)
    settings = {"upstream": {"context_window": 60_000, "discover": False}, "store": store, "compaction": QUICK}
    first = await proxy_factory(upstream.url, **settings)
    for turn in range(6):
        await first.chat([{"role": "system", "content": f"task {turn}"}, *ROWS])
    await first.proxy.core.tasks.settled()
    before = await first.proxy.diagnosing.diagnose(first.proxy.core.router.routes[-1], "sim-model", BEARER)

    await first.proxy.knowledge.flush()
    second = await proxy_factory(upstream.url, **settings)
    after = await second.proxy.diagnosing.diagnose(second.proxy.core.router.routes[-1], "sim-model", BEARER)

    assert after.calibration == before.calibration
    assert after.calibration.ratio == pytest.approx(1.5, rel=0.03)
    assert after.calibration.samples == 6


async def test_people_are_told_where_every_number_comes_from(upstream_factory: Any, proxy_factory: Any) -> None:
    """
    For each route: the vocabulary, the window and its origin, the calibration, and what the server said.
    """
    upstream = await upstream_factory(window=8_192, models_field="max_model_len")
    proxied = await proxy_factory(upstream.url)
    await proxied.proxy.core.tasks.settled()
    told = await proxied.proxy.diagnosing.diagnose(proxied.proxy.core.router.routes[-1], "sim-model")

    assert (told.route, told.upstream, told.model, told.encoding) == ("default", "sim", "sim-model", "o200k_base")
    assert (told.window.tokens, told.window.source, told.limit) == (8_192, "upstream", None)
    assert (told.calibration.samples, told.calibration.ratio) == (0, 1.15)
    assert told.pages[0] == Page("/v1/models", 200, 8_192, models=("sim-model",))
    assert not upstream.main_calls


@pytest.mark.parametrize(
    ("pattern", "configured", "asked"),
    [
        ("gpt-4o", ("m", "n"), ("gpt-4o",)),
        ("gpt-*", ("m", "claude-*", "n"), ("m", "n")),
        (None, (), ("listed",)),
        (None, ("qwen*",), ("listed",)),
    ],
)
def test_a_diagnosis_is_of_models_that_have_a_name(pattern: str | None, configured: Any, asked: Any) -> None:
    """
    Of the route's own model, else of those configured, else of those the server lists; a pattern is no name.
    """
    route = RouteSettings(name="r", upstream="u", match=MatchSettings(model=pattern))

    assert models_to_ask(route, configured, (Page("/v1/models", 200, models=("listed",)),)) == asked
