"""
The books: what each exchange and each summary took, in tokens and money.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Mapping
from dataclasses import replace

from typing_extensions import override

from proxy.errors import SummaryError
from proxy.pipeline.asking import ModelAsker
from proxy.pipeline.canonical import fault_of
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.ledger import Ledger, Sums
from proxy.pipeline.money import Price, Tokens, counted, without_proxy
from proxy.pipeline.plan import Plan
from proxy.pipeline.prices import PriceBook
from proxy.pipeline.settings import ModelSettings
from proxy.pipeline.summary_health import SummaryHealth
from proxy.pipeline.watching import Seen
from proxy.summaries.guards import SummaryAnswer
from proxy.summaries.prompt import SummaryPrompt
from proxy.telemetry.metrics import Metrics
from proxy.upstream.client import UpstreamClient
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.target import UpstreamTarget

TOKENS = ("before_tokens", "prompt_tokens", "cached_tokens", "completion_tokens")
SUMMARY_TOKENS = ("summary_prompt_tokens", "summary_completion_tokens")
LONGEST_NAME = 100
COSTS = ("before_cost", "after_cost", "summary_cost")
_TOKEN_KINDS = {entry: entry.removesuffix("_tokens") for entry in (*TOKENS, *SUMMARY_TOKENS)}
_COST_KINDS = {entry: entry.removesuffix("_cost") for entry in COSTS}


class Accounts:
    """
    Keeps the ledger and the counters that are scraped.
    """

    def __init__(
        self,
        prices: PriceBook,
        ledger: Ledger,
        *,
        metrics: Metrics,
        clock: Callable[[], float],
        health: SummaryHealth | None = None,
    ) -> None:
        self.prices = prices
        self.ledger = ledger
        self.health = health or SummaryHealth(clock)
        self._metrics = metrics
        self._clock = clock

    def renewed(self, upstreams: Mapping[str, UpstreamSettings], models: Mapping[str, ModelSettings]) -> Accounts:
        """
        Return accounts that go on in the same ledger, with prices by other settings.
        """
        prices = self.prices.renewed(upstreams, models)
        return Accounts(prices, self.ledger, metrics=self._metrics, clock=self._clock, health=self.health)

    def exchange(self, exchange: Exchange, seen: Seen) -> Sums:
        """
        Enter an exchange and return its entries; an answer of which nothing is known enters as one that happened.
        """
        route, model = exchange.route.name, exchange.model
        entries: Sums = {"exchanges": 1}
        sent = _sent(exchange, seen)
        if sent is None:
            entries["unmeasured"] = 1
        else:
            entries |= self._entries(exchange, model, exchange.plan, sent)
        name = self.ledger.name_of(route, model)
        self._enter(route, name, entries)
        self._observe(exchange, name, sent, spoke_at=seen.spoke_at)
        return entries

    def summary(self, exchange: Exchange, answer: SummaryAnswer, *, model: str, by: str) -> None:
        """
        Enter one call that wrote a summary for a conversation with *model*; *by* is the model that wrote.
        """
        spent = Tokens(answer.prompt_tokens, 0, answer.completion_tokens)
        entries: Sums = {"summary_calls": 1}
        entries |= dict(zip(SUMMARY_TOKENS, (spent.prompt, spent.completion), strict=True))
        upstream = exchange.compaction.summarizer.upstream or exchange.party.upstream
        price = self.prices.find(upstream, by)
        if price is not None:
            entries["summary_cost"] = price.cost(spent)
        route = exchange.route.name
        self._enter(route, self.ledger.name_of(route, model), entries)

    def _entries(self, exchange: Exchange, model: str, plan: Plan | None, sent: Tokens) -> Sums:
        removed = _removed(plan, sent)
        fits = plan is None or plan.scene is None or sent.prompt + removed <= plan.scene.window.tokens
        rewritten = plan is not None and plan.kind == "compacted"
        fresh = self._usual_fresh(exchange.route.name, model) if rewritten else _fresh(sent)
        before = without_proxy(sent, removed=removed, fits=fits, fresh=fresh)
        entries: Sums = {
            # The size is a fact, whether or not it would have fitted.
            "before_tokens": sent.prompt + removed,
            "prompt_tokens": sent.prompt,
            "cached_tokens": sent.cached,
            "completion_tokens": sent.completion,
            "folded": int(removed > 0),
            "beyond_window": int(removed > 0 and not fits),
        }
        if sent.cached and not rewritten:
            entries |= {"cache_hits": 1, "fresh_tokens": sent.prompt - sent.cached}
        price = self.prices.find(exchange.party.upstream, model)
        return entries | _costs(price, before, sent)

    def _usual_fresh(self, route: str, model: str) -> int | None:
        """
        Return what the upstream read anew in a turn where its cache was of use, ``None`` where it never was.
        """
        hits = self.ledger.sum_of(route, model, "cache_hits")
        return round(self.ledger.sum_of(route, model, "fresh_tokens") / hits) if hits else None

    def _observe(self, exchange: Exchange, model: str, sent: Tokens | None, *, spoke_at: float | None) -> None:
        """
        Observe sizes and times under the names of OpenTelemetry.
        """
        seconds = self._clock() - exchange.started
        self._metrics.operation_seconds.labels(model, fault_of(exchange)).observe(seconds)
        if spoke_at is not None:
            self._metrics.first_token_seconds.labels(model).observe(spoke_at - exchange.started)
        if sent is not None:
            for kind, tokens in (("input", sent.prompt), ("output", sent.completion)):
                self._metrics.token_usage.labels(model, kind).observe(tokens)

    def _enter(self, route: str, name: str, entries: Sums) -> None:
        self.ledger.add(route, name, entries, at=self._clock())
        for entry, value in entries.items():
            if value and entry in _TOKEN_KINDS:
                self._metrics.tokens.labels(route, name, _TOKEN_KINDS[entry]).inc(value)
            elif value and entry in _COST_KINDS:
                self._metrics.cost.labels(route, name, _COST_KINDS[entry]).inc(value)


class MeteredAsker(ModelAsker):
    """
    Enters every call into the books and the trace, also those whose answer is then rejected: they are paid for.
    """

    def __init__(
        self, client: UpstreamClient, targets: Callable[[str, str | None], UpstreamTarget], *, accounts: Accounts
    ) -> None:
        super().__init__(client, targets)
        self._accounts = accounts

    @override
    async def ask(self, exchange: Exchange, prompt: SummaryPrompt, *, model: str) -> SummaryAnswer:
        by = prompt.model or model
        writer = f"{exchange.compaction.summarizer.upstream or exchange.party.upstream} / {by[:LONGEST_NAME]}"
        span, headers = exchange.trace.call(exchange.incoming.headers, model=by)
        traced = replace(exchange, incoming=exchange.incoming._replace(headers=headers))
        try:
            answer = await super().ask(traced, prompt, model=model)
        except SummaryError as why:
            span.end(why.reason)
            self._accounts.health.failed(exchange.route.name, writer, why.reason)
            raise
        except CancelledError:
            span.end("client-left")
            raise
        span.end()
        self._accounts.health.answered(exchange.route.name, writer)
        self._accounts.summary(exchange, answer, model=model, by=by)
        return answer


def _sent(exchange: Exchange, seen: Seen) -> Tokens | None:
    """
    Return what the upstream says it read and wrote, else our count of what was sent to it.
    """
    if seen.usage is not None:
        return counted(seen.usage.prompt, seen.usage.cached, seen.usage.completion)
    plan = exchange.plan
    if exchange.status != 200 or plan is None or plan.scene is None or plan.sent_tokens is None:
        return None
    return Tokens(plan.scene.scaled(plan.sent_tokens))


def _fresh(sent: Tokens) -> int | None:
    return sent.prompt - sent.cached if sent.cached else None


def _removed(plan: Plan | None, sent: Tokens) -> int:
    """
    Return the tokens that were left out, by the ratio that this very request showed: no margin makes savings larger.
    """
    if plan is None or plan.scene is None or not plan.sent_tokens:
        return 0
    return max(round((plan.scene.total - plan.sent_tokens) * sent.prompt / plan.sent_tokens), 0)


def _costs(price: Price | None, before: Tokens, sent: Tokens) -> Sums:
    if price is None:
        return {"unpriced": 1}
    return {"before_cost": price.cost(before), "after_cost": price.cost(sent)}
