"""
Explain requests with the parts that serve them: no model is asked, no request goes on, no record is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from proxy.engines.compressor import Compressor
from proxy.engines.window import Window
from proxy.pipeline.archive import Archive
from proxy.pipeline.chat_completions import action_of
from proxy.pipeline.conversations import Conversations
from proxy.pipeline.desk import SummaryDesk
from proxy.pipeline.directives import read_directives
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.explain import Explanation, explained
from proxy.pipeline.groundwork import Groundwork
from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.habits import ENDS, Habits
from proxy.pipeline.heads import by_name
from proxy.pipeline.identify import Identifier
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.marks import Marks
from proxy.pipeline.plan import Plan
from proxy.pipeline.planner import Planner
from proxy.pipeline.planning import make_planning
from proxy.pipeline.routes import Router
from proxy.pipeline.scene import Scene
from proxy.pipeline.sharing import SummarySharing
from proxy.pipeline.summarizing import Summarizing
from proxy.pipeline.tasks import TaskKeeper
from proxy.pipeline.viewing import Viewer
from proxy.records.memory import MemoryStore
from proxy.records.record import Record
from proxy.records.settings import StoreSettings
from proxy.records.store import Clock, RecordStore
from proxy.summaries.base import Summarizer
from proxy.summaries.extractive import ExtractiveSummarizer
from proxy.summaries.fallback import Cooldown
from proxy.summaries.work import SummaryWork
from proxy.telemetry.metrics import Metrics
from proxy.tokens.counter import TokenCounter
from proxy.upstream.wire import Incoming

PATH = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Parts:
    """
    What an explanation shares with the proxy that serves.
    """

    counter: TokenCounter
    router: Router
    identifier: Identifier
    knowledge: Knowledge
    viewer: Viewer
    store: RecordStore
    work: SummaryWork
    tasks: TaskKeeper
    clock: Clock


class Explainer:
    """
    Plans a request as it would be planned if it came now; ``extractive`` stands in for any model.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def renew(self, parts: Parts) -> None:
        """
        Explain by other settings from now on.
        """
        self._parts = parts

    async def of_body(self, body: bytes) -> dict[str, Any]:
        """
        Return what would be done to a request of which only the body is known, as JSON takes it.
        """
        return (await self.explain(Incoming("POST", PATH, (), body))).to_dict()

    async def explain(self, incoming: Incoming) -> Explanation:
        """
        Return what would be done to *incoming*.
        """
        parts = self._parts
        route, heads = parts.router.of(incoming), by_name(incoming.headers)
        exchange = Exchange(
            incoming=incoming,
            route=route,
            directives=read_directives(heads),
            party=parts.identifier.party(route.upstream, heads),
            started=parts.clock(),
            viewer=parts.viewer.forgetful(),
        )
        # Made anew each time, so that one explanation finds nothing that another one left behind.
        planner = _planner(parts)
        failed = Plan(incoming.body, why="failed open")
        plan = await guarded_async("explain", planner.plan(exchange), otherwise=failed)
        exchange.action = "failed-open" if plan is failed else action_of(exchange, plan)
        measured = await guarded_async("measure", planner.measured(exchange, plan), otherwise=None)
        return explained(exchange, measured._replace(body=plan.body) if measured else plan, parts.counter)


class Unwritten(MemoryStore):
    """
    Another store, read only: what is written stays here and goes with it.

    Of facts only the habits of conversations are told: summaries that others just made have no place in an explanation.
    """

    def __init__(self, behind: RecordStore, *, clock: Clock) -> None:
        super().__init__(clock=clock)
        self._behind = behind

    @override
    async def find(self, digests: Sequence[str]) -> dict[str, tuple[Record, ...]]:
        return await self._behind.find(digests)

    @override
    async def get_fact(self, name: str) -> bytes | None:
        if name.startswith(ENDS):
            return await self._behind.get_fact(name)
        return await super().get_fact(name)


class Offline:
    """
    Writes without a model, whatever the settings say.
    """

    def __init__(self, summarizer: Summarizer, clock: Clock) -> None:
        self._summarizer = summarizer
        self._rest = Cooldown(clock)

    async def writer(self, _exchange: Exchange, _scene: Scene) -> Summarizer:
        """
        Return the one that needs no model.
        """
        return self._summarizer

    def rest(self, _exchange: Exchange, _scene: Scene) -> Cooldown:
        """
        Return a rest that never begins.
        """
        return self._rest


def _planner(parts: Parts) -> Planner:
    metrics = Metrics()
    # A mark is used up by the request that it was made for, not by a look at it.
    unmarked, unwritten = Marks(parts.clock), Unwritten(parts.store, clock=parts.clock)
    habits = Habits(unwritten, parts.tasks, metrics=metrics, clock=parts.clock)
    summarizer = ExtractiveSummarizer(parts.counter, work=parts.work)
    desk = SummaryDesk(parts.tasks, SummarySharing(unwritten, parts.tasks))
    offline = Offline(summarizer, parts.clock)
    ground = Groundwork(
        counter=parts.counter,
        engines={engine.name: engine for engine in (Compressor(parts.counter), Window(parts.counter))},
        conversations=Conversations(unwritten, metrics=metrics, marks=unmarked, looked_up=habits.looked_up),
        summarizing=Summarizing(desk, offline, summarizer, habits=habits, metrics=metrics),
        habits=habits,
        archive=Archive(unwritten, parts.tasks, StoreSettings(url="memory://")),
        tasks=parts.tasks,
        metrics=metrics,
        clock=parts.clock,
    )
    return make_planning(ground, parts.identifier, parts.knowledge, unwritten).planner
