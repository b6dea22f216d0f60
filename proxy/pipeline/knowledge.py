"""
What was learned of upstreams: windows, token ratios, limits, strict roles.

Every number belongs to one (upstream, model, credential), and outlives a restart in the store.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from copy import copy
from typing import Any

from proxy.chat.json import dumps, loads
from proxy.pipeline.anchors import Anchors
from proxy.pipeline.configured import ConfiguredWindows
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.fact_keys import key_of, limits_key_of
from proxy.pipeline.facts import Facts
from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.settings import ModelSettings
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.store import RecordStore
from proxy.tokens.calibration import Anchor, Calibration
from proxy.tokens.families import family_of
from proxy.upstream.settings import UpstreamSettings
from proxy.windows.learned import BYTES, LONG_TIER, OUTPUT_CAP, OUTPUT_SUM, Claim, LearnedLimits
from proxy.windows.resolve import Window, find_window

Discover = Callable[[Exchange, str], Awaitable[int | None]]
"""Says what an upstream told of its window, and asks it where it is time to."""
MOST_MODELS = 5_000
MOST_LIMITS = 10_000
"""Names of models come from clients; of those with limits the longest unheard of go first."""
_NO_LIMITS = LearnedLimits()
Basis = tuple[object, ...]
"""All that windows, scales and limits of a model follow from at a moment; while it is equal, so are they."""


class Knowledge:
    """
    Answers which window, scale and role profile hold for an exchange.
    """

    def __init__(
        self,
        upstreams: Mapping[str, UpstreamSettings],
        models: Mapping[str, ModelSettings],
        *,
        discover: Discover,
        store: RecordStore,
        tasks: TaskKeeper,
        clock: Callable[[], float],
    ) -> None:
        self._upstreams = upstreams
        self._windows = ConfiguredWindows(upstreams, models)
        self._discover = discover
        self._store = store
        self._tasks = tasks
        self._clock = clock
        self._facts: OrderedDict[tuple[str, str, str], Facts] = OrderedDict()
        self._limits: OrderedDict[tuple[str, str], LearnedLimits] = OrderedDict()
        self.anchors = Anchors(store, tasks)
        self._table: dict[str, Window] = {}
        self._lessons = [0]  # how often a limit changed; one number for all copies

    def renewed(
        self, upstreams: Mapping[str, UpstreamSettings], models: Mapping[str, ModelSettings], *, discover: Discover
    ) -> Knowledge:
        """
        Return the same knowledge under other settings: what either learns, both know.
        """
        other = copy(self)
        other._upstreams, other._discover = upstreams, discover  # noqa: SLF001 - it is one of us
        other._windows = ConfiguredWindows(upstreams, models)  # noqa: SLF001
        return other

    async def window(self, exchange: Exchange, model: str, *, discovered: int | None = None) -> Window:
        """
        Return the context window, in the model's tokens, and where it comes from; *discovered* saves the question.
        """
        found = await self._find_window(exchange, model, discovered)
        self.facts(exchange, model).window = found
        return found

    async def basis(self, exchange: Exchange, model: str) -> Basis | None:
        """
        Return what answers about a model follow from now, ``None`` as long as nothing of it has been read.

        A limit of the output that expires does not change it: at worst the upstream says once more what it allows.
        """
        facts = self.facts(exchange, model)
        if not facts.loaded:
            return None
        discovered = None if self._configured(exchange, model) else await self._discover(exchange, model)
        return facts.calibration, facts.refused, discovered, self._learned(exchange, model), self._lessons[0]

    def known(self) -> tuple[Facts, ...]:
        """
        Return all that is known, for people to look at.
        """
        return tuple(self._facts.values())

    async def _find_window(self, exchange: Exchange, model: str, discovered: int | None) -> Window:
        if not self.facts(exchange, model).loaded:
            await self._load(exchange, model)
        configured = self._configured(exchange, model)
        learned = self._learned(exchange, model)
        if not configured and discovered is None:
            discovered = await self._discover(exchange, model)
        if learned and not (discovered and discovered < learned) and not (configured and configured <= learned):
            # A limit that the upstream stated beats what it or we said before, as it is always the lower one.
            return Window(learned, "learned")
        if configured or discovered:
            return find_window(model, configured=configured, discovered=discovered)
        if model not in self._table:
            if len(self._table) >= MOST_MODELS:
                self._table.clear()
            self._table[model] = await asyncio.to_thread(find_window, model)
        return self._table[model]

    def scale(self, exchange: Exchange, model: str, known: Anchor | None, growth: int, total: int) -> float:
        """
        Return the model's tokens for one of ours, its safety margin included.

        *known* is the last request of this conversation whose real size the upstream told, *growth* our tokens since
        then, *total* our tokens of a request without such an anchor.
        """
        calibration = self.facts(exchange, model).calibration
        estimate = known.estimate + growth if known else total
        return max(calibration.at_most(estimate, known), 1) / max(estimate, 1)

    def facts(self, exchange: Exchange, model: str) -> Facts:
        """
        Return what is known, as it stands in memory.
        """
        party = exchange.party
        key = (party.upstream, model, party.credential)
        facts = self._facts.get(key)
        if facts is None:
            facts = self._facts[key] = Facts(Calibration.of(family_of(model)), key)
            if len(self._facts) > MOST_MODELS:
                self._facts.popitem(last=False)
        return facts

    def least_folded(self, exchange: Exchange, model: str, threshold: int) -> int:
        """
        Return the smallest size that leads to a compaction or ever did; from half of it on a conversation may have a record.
        """
        refused = self.facts(exchange, model).refused
        return threshold if refused is None else min(threshold, refused)

    def refuse(self, exchange: Exchange, model: str, tokens: int) -> None:
        """
        Note that a request of this size was refused; what was compacted for it has to be found again.
        """
        facts = self.facts(exchange, model)
        if facts.refused is None or tokens < facts.refused:
            facts.refused = tokens
            self.save(exchange, model)

    def stated_limit(self, exchange: Exchange, model: str) -> int | None:
        """
        Return the limit that an error stated and that is still believed.
        """
        return self._learned(exchange, model)

    def largest_accepted(self, exchange: Exchange, model: str) -> int:
        """
        Return the largest prompt, in the model's tokens, that was served to this credential.
        """
        accepted = self._limits_of(exchange, model).accepted
        return max((size for who, size, _ in accepted if who == exchange.party.credential), default=0)

    def stated(self, exchange: Exchange, name: str) -> int | None:
        """
        Return the limit of a model, of ``LONG_TIER`` or of ``BYTES`` that is believed for this credential.
        """
        limits = self._limits.get((exchange.party.upstream, name))
        return None if limits is None else limits.limit_for(exchange.party.credential, now=self._clock())

    def learn_limit(self, exchange: Exchange, model: str, claim: Claim) -> None:
        """
        Believe a limit that the upstream stated, where the guards allow it.
        """
        limits = self._limits_of(exchange, model)
        learned = limits.learn(claim, now=self._clock(), ttl=exchange.recovery.limit_ttl)
        self._keep_limits(exchange, model, limits, learned)

    def accept(self, exchange: Exchange, model: str, prompt: int) -> None:
        """
        Note that a prompt of this real size was served; written only where it refutes a limit.
        """
        limits = self._limits_of(exchange, model)
        learned = limits.accept(
            prompt, credential=exchange.party.credential, now=self._clock(), ttl=exchange.recovery.limit_ttl
        )
        if learned.beliefs != limits.beliefs:
            self._keep_limits(exchange, model, limits, learned)
        else:
            self._hold_limits(exchange, model, learned)

    def learn(self, exchange: Exchange, model: str, calibration: Calibration) -> None:
        """
        Take over what an answer taught; written once a restart would notice the difference.
        """
        facts = self.facts(exchange, model)
        facts.calibration = calibration
        if facts.kept is None or calibration.has_drifted(facts.kept):
            self.save(exchange, model)

    def save(self, exchange: Exchange, model: str) -> None:
        """
        Write what is known to the store, in the background.
        """
        facts = self.facts(exchange, model)
        self._tasks.start(self._put(key_of(*facts.of), facts.written()), name="save knowledge")

    async def flush(self) -> None:
        """
        Write what was learned since the last writing, at the end of the process.
        """
        for facts in tuple(self._facts.values()):
            if facts.calibration.samples and facts.calibration != facts.kept:
                await self._put(key_of(*facts.of), facts.written())

    def _learned(self, exchange: Exchange, model: str) -> int | None:
        of_model, of_tier = self.stated(exchange, model), self.stated(exchange, LONG_TIER)
        if of_model is None or of_tier is None:
            return of_tier if of_model is None else of_model
        return min(of_model, of_tier)

    def _limits_of(self, exchange: Exchange, model: str) -> LearnedLimits:
        return self._limits.get((exchange.party.upstream, model), _NO_LIMITS)

    def _keep_limits(self, exchange: Exchange, model: str, old: LearnedLimits, new: LearnedLimits) -> None:
        if new == old:
            return
        self._hold_limits(exchange, model, new)
        self._tasks.start(
            self._put(limits_key_of(exchange.party.upstream, model), dumps(new.to_dict())), name="save limits"
        )

    def _hold_limits(self, exchange: Exchange, model: str, limits: LearnedLimits) -> None:
        key, before = (exchange.party.upstream, model), self._limits_of(exchange, model)
        if limits != before and (limits.beliefs or before.beliefs):  # without a belief there is no limit to change
            self._lessons[0] += 1
        self._limits[key] = limits
        self._limits.move_to_end(key)
        if len(self._limits) > MOST_LIMITS:
            self._limits.popitem(last=False)

    async def _put(self, key: str, value: bytes) -> None:
        # What is not kept is learned again from the next answers.
        await guarded_async("keep a fact", self._store.put_fact(key, value), otherwise=None)

    async def _load(self, exchange: Exchange, model: str) -> None:
        """
        Read what an earlier process learned, once for each key.
        """
        facts = self.facts(exchange, model)
        if facts.loading is None:
            facts.loading = self._tasks.start(self._read(exchange, model, facts), name="load knowledge")
        if not facts.loaded:
            await asyncio.shield(facts.loading)

    async def _read(self, exchange: Exchange, model: str, facts: Facts) -> None:
        for name in (model, LONG_TIER, BYTES, OUTPUT_CAP + model, OUTPUT_SUM + model):
            if (exchange.party.upstream, name) not in self._limits:
                data = await self._get(limits_key_of(exchange.party.upstream, name))
                with suppress(ValueError):
                    self._hold_limits(exchange, name, LearnedLimits.from_dict(data))
        data = await self._get(key_of(*facts.of))
        with suppress(ValueError, KeyError, TypeError):
            facts.read(data)

    async def _get(self, key: str) -> dict[str, Any]:
        raw = await guarded_async("read a fact", self._store.get_fact(key), otherwise=None)
        data = loads(raw) if raw else {}
        return data if isinstance(data, dict) else {}

    def configured_body(self, exchange: Exchange) -> int | None:
        """
        Return the configured bytes of a body.
        """
        return self._upstreams[exchange.party.upstream].max_body

    def configured_output(self, model: str) -> int | None:
        """
        Return the configured tokens of an answer.
        """
        return self._windows.output_of(model)

    def _configured(self, exchange: Exchange, model: str) -> int | None:
        return self._windows.of(exchange.party.upstream, model)
