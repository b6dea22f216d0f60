"""
What models cost: as configured, else as the packaged table of ``genai-prices`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

from proxy.pipeline.money import FlatPrice, Price, Tokens
from proxy.pipeline.settings import ModelSettings
from proxy.upstream.settings import UpstreamSettings

MOST_MODELS = 1_000


@dataclass(frozen=True, slots=True)
class TablePrice:
    """
    A row of the table, with its tiers.
    """

    prices: Any
    usage: Any

    def cost(self, tokens: Tokens) -> float:
        """
        Return US dollars.
        """
        usage = self.usage(input_tokens=tokens.prompt, cache_read_tokens=tokens.cached, output_tokens=tokens.completion)
        return float(self.prices.calc_price(usage)["total_price"])


class PriceBook:
    """
    Finds prices; nothing is known before ``load`` has run.
    """

    def __init__(
        self,
        upstreams: Mapping[str, UpstreamSettings],
        models: Mapping[str, ModelSettings],
        *,
        clock: Callable[[], float],
    ) -> None:
        self._base_urls = {name: upstream.base_url for name, upstream in upstreams.items()}
        self._models = models
        self._clock = clock
        self._table: Any = None
        self._found: dict[tuple[str, str], Price | None] = {}

    def load(self) -> None:
        """
        Read the table, which takes a fifth of a second: call it in a thread.
        """
        # Late and by name, as for windows: the module is larger than all others together.
        import_module("genai_prices.data")
        self._table = import_module("genai_prices")
        self._found.clear()

    def renewed(self, upstreams: Mapping[str, UpstreamSettings], models: Mapping[str, ModelSettings]) -> PriceBook:
        """
        Return a book for other settings that need not read the table again.
        """
        other = PriceBook(upstreams, models, clock=self._clock)
        other._table = self._table
        return other

    def find(self, upstream: str, model: str) -> Price | None:
        """
        Return the price of a model at an upstream, ``None`` where nobody knows it.
        """
        key = (upstream, model)
        if key not in self._found:
            if len(self._found) >= MOST_MODELS:
                self._found.clear()
            self._found[key] = self._configured(model) or self._listed(upstream, model)
        return self._found[key]

    def _configured(self, model: str) -> Price | None:
        for glob, settings in self._models.items():
            if settings.prices is not None and fnmatchcase(model, glob):
                return FlatPrice(settings.prices.input, settings.prices.output, settings.prices.cached)
        return None

    def _listed(self, upstream: str, model: str) -> Price | None:
        """
        Look at the provider behind the upstream's address first; a gateway's models go by their names alone.
        """
        if self._table is None:
            return None
        snapshot = self._table.data_snapshot.get_snapshot()
        bare = model.rpartition("/")[2]
        for name, url in ((model, self._base_urls.get(upstream)), (model, None), (bare, None)):
            try:
                _, found = snapshot.find_provider_model(name, None, None, url)
            except LookupError:
                continue
            prices = found.get_prices(datetime.fromtimestamp(self._clock(), UTC))
            return TablePrice(prices, self._table.Usage)
        return None
