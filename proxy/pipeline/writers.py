"""
The summariser of one exchange: a model with a fallback behind it, or the extractive one alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from proxy.engines.sizer import Sizer
from proxy.errors import IllegalPlanError
from proxy.pipeline.asking import ModelAsker
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.scene import Scene
from proxy.summaries.base import Summarizer
from proxy.summaries.fallback import Cooldown, Cooldowns, FallbackSummarizer
from proxy.summaries.guards import SummaryAnswer
from proxy.summaries.in_place import Place, fields_of, may_be_asked
from proxy.summaries.llm import LlmOptions, LlmSummarizer
from proxy.summaries.prompt import SummaryPrompt
from proxy.summaries.work import SummaryWork
from proxy.tokens.counter import TokenCounter

ANSWER_SHARE = 0.25
"""Share of the summary model's window that is kept for its answer."""
ANSWER_TOKENS = 4_096


class Writers:
    """
    Makes the summariser of an exchange; rests after failures belong to a route and a credential.
    """

    def __init__(
        self,
        asker: ModelAsker,
        counter: TokenCounter,
        fallback: Summarizer,
        *,
        work: SummaryWork,
        knowledge: Knowledge,
        clock: Callable[[], float],
    ) -> None:
        self._knowledge = knowledge
        self._asker = asker
        self._counter = counter
        self._fallback = fallback
        self._work = work
        self._cooldowns: dict[float, Cooldowns] = {}
        self._clock = clock

    async def writer(self, exchange: Exchange, scene: Scene) -> Summarizer:
        """
        Return who writes the summaries of this exchange.
        """
        settings = exchange.compaction.summarizer
        if settings.kind == "extractive":
            return self._fallback
        own = scene.request.model

        async def ask(prompt: SummaryPrompt) -> SummaryAnswer:
            return await self._asker.ask(exchange, prompt, model=own)

        options = LlmOptions(
            input_tokens=await self._input_tokens(exchange, scene),
            model=settings.model,
            own_model=own if settings.upstream is None else None,
            max_calls=settings.max_calls,
            instructions=settings.instructions,
            place=self._place(scene) if settings.in_place and settings.upstream is None else None,
        )
        model = LlmSummarizer(ask, self._counter, options, work=self._work)
        return FallbackSummarizer(model, self._fallback, self.rest(exchange, scene))

    def rest(self, exchange: Exchange, scene: Scene) -> Cooldown:
        """
        Return the rest of the model that would write for this exchange; it belongs to one credential.
        """
        settings = exchange.compaction.summarizer
        cooldowns = self._cooldowns.setdefault(settings.cooldown, Cooldowns(self._clock, seconds=settings.cooldown))
        return cooldowns.of(
            exchange.route.name,
            asked_upstream(exchange),
            settings.model or scene.request.model,
            exchange.party.credential,
        )

    def _place(self, scene: Scene) -> Place | None:
        """
        Return the conversation as it is sent now; ``None`` where nothing can be asked at its end.
        """
        try:
            messages = scene.emitted(scene.resumed)
        except IllegalPlanError:
            return None
        if not may_be_asked(messages, scene.request.data, strict=scene.strict):
            return None
        tokens = Sizer(scene.rows, self._counter, fixed=scene.fixed).tokens(scene.resumed)
        return Place(messages, fields_of(scene.request.data), tokens, folded=scene.resumed is not None)

    async def _input_tokens(self, exchange: Exchange, scene: Scene) -> int:
        """
        Return what one summariser prompt may hold, in our tokens: the window of whoever is asked, less its answer.
        """
        settings = exchange.compaction.summarizer
        if settings.upstream is None and settings.model in {None, scene.request.model}:
            return _room(scene.window.tokens, scene.scale)
        model = settings.model or scene.request.model
        there = replace(exchange, party=replace(exchange.party, upstream=settings.upstream or exchange.party.upstream))
        window = await self._knowledge.window(there, model)
        return _room(window.tokens, self._knowledge.scale(there, model, None, 0, window.tokens))


def asked_upstream(exchange: Exchange) -> str:
    """
    Return the name of the upstream that summaries of this exchange are asked of.
    """
    return exchange.compaction.summarizer.upstream or exchange.route.upstream


def _room(window: int, scale: float) -> int:
    return max(int((window - min(ANSWER_TOKENS, int(window * ANSWER_SHARE))) / scale), 1)
