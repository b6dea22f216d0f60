"""
What models cost.
"""

from datetime import UTC, datetime
from typing import Any

import genai_prices
import pytest

from proxy.pipeline.money import Tokens
from proxy.pipeline.prices import PriceBook
from proxy.pipeline.settings import ModelSettings
from proxy.upstream.settings import UpstreamSettings

UPSTREAMS = {
    "openai": UpstreamSettings(base_url="https://api.openai.com/v1"),
    "local": UpstreamSettings(base_url="http://127.0.0.1:11434/v1"),
}
MILLION = Tokens(prompt=1_000_000)
NOW = 1_790_000_000.0


def book(**models: Any) -> PriceBook:
    """
    Return a loaded book.
    """
    made = PriceBook(
        UPSTREAMS, {name: ModelSettings.model_validate(each) for name, each in models.items()}, clock=lambda: NOW
    )
    made.load()
    return made


@pytest.mark.parametrize("model", ["gpt-4o", "openai/gpt-4o"])
@pytest.mark.parametrize("upstream", ["openai", "local"])
def test_a_known_model_is_found_by_address_and_by_name(upstream: str, model: str) -> None:
    """
    Gateways put a prefix before the name.
    """
    price = book().find(upstream, model)

    assert price is not None
    assert 0 < price.cost(Tokens(1_000_000, cached=1_000_000)) < price.cost(MILLION)


def test_an_unknown_model_has_no_price() -> None:
    """
    None is not nothing.
    """
    assert book().find("local", "my-own-model") is None


def test_what_is_configured_wins() -> None:
    """
    Zero included, for a model of one's own.
    """
    made = book(**{"gpt-4o*": {"prices": {"input": 0, "output": 0}}, "my-*": {"prices": {"input": 3, "output": 9}}})
    free, own = made.find("openai", "gpt-4o-mini"), made.find("local", "my-own-model")

    assert free is not None
    assert own is not None
    assert (free.cost(MILLION), own.cost(MILLION)) == (0, 3)


def test_nothing_is_known_before_the_table_is_there() -> None:
    """
    And what was not found then is looked for again.
    """
    made = PriceBook(UPSTREAMS, {}, clock=lambda: NOW)
    early = made.find("openai", "gpt-4o")
    made.load()

    assert (early, made.find("openai", "gpt-4o") is None) == (None, False)


@pytest.mark.parametrize(
    "model",
    ["gpt-4o", "gpt-4.1-mini", "claude-sonnet-4-5", "claude-3-5-haiku-latest", "gemini-2.5-pro", "deepseek-chat"],
)
@pytest.mark.parametrize("prompt", [0, 1, 127_999, 128_001, 199_999, 200_000, 200_001, 272_001, 1_000_000])
def test_costs_are_those_of_the_table(model: str, prompt: int) -> None:
    """
    Computed apart from it, since it takes a hundred times as long; tiers by the size of the prompt included.
    """
    usage = genai_prices.Usage(input_tokens=prompt, cache_read_tokens=prompt // 3, output_tokens=700)
    table = genai_prices.calc_price(usage, model, genai_request_timestamp=datetime.fromtimestamp(NOW, UTC))
    price = book().find("local", model)

    assert price is not None
    assert price.cost(Tokens(prompt, prompt // 3, 700)) == pytest.approx(float(table.total_price), rel=1e-9)
