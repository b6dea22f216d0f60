"""
What models cost: as configured, else as the packaged table of ``genai-prices`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

from proxy.pipeline.money import FlatPrice, Price, TieredPrice
from proxy.pipeline.settings import ModelSettings
from proxy.upstream.settings import UpstreamSettings

MOST_MODELS = 1_000


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
            return _price_of(prices)
        return None


def _price_of(prices: Any) -> Price | None:
    """
    Return a row of the table as a price of ours, which is a hundred times as quick as the table's own arithmetic.
    """
    rows = (prices.input_mtok, prices.output_mtok, prices.cache_read_mtok)
    if rows[0] is None:
        return None
    starts = sorted({tier.start for row in rows for tier in getattr(row, "tiers", ())})
    flat = [_flat(rows, above=start) for start in (-1, *starts)]
    return TieredPrice(flat[0], tuple(zip(starts, flat[1:], strict=True))) if starts else flat[0]


def _flat(rows: tuple[Any, Any, Any], *, above: int) -> FlatPrice:
    """
    Return what holds for prompts just larger than *above* tokens.
    """
    prompt, completion, cached = (_at(row, above + 1) for row in rows)
    return FlatPrice(prompt or 0.0, completion or 0.0, cached)


def _at(row: Any, prompt: int) -> float | None:
    if row is None or not hasattr(row, "tiers"):
        return None if row is None else float(row)
    fitting = [tier.price for tier in row.tiers if prompt > tier.start]
    return float(fitting[-1] if fitting else row.base)
