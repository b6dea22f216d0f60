"""
Put together what answers requests, from settings that may change while the proxy runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proxy.config.settings import AppSettings
from proxy.engines.compressor import Compressor
from proxy.engines.window import Window as WindowEngine
from proxy.pipeline.accounts import Accounts, MeteredAsker
from proxy.pipeline.archive import Archive
from proxy.pipeline.chat_completions import ChatCompletions, Steps
from proxy.pipeline.conversations import Conversations
from proxy.pipeline.desk import SummaryDesk
from proxy.pipeline.diagnosis import Diagnosing
from proxy.pipeline.explainer import Parts
from proxy.pipeline.groundwork import Groundwork
from proxy.pipeline.habits import Habits
from proxy.pipeline.handlers import Handlers
from proxy.pipeline.hooks import Hooks
from proxy.pipeline.identify import Identifier
from proxy.pipeline.journal import Journal
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.learning import Learning
from proxy.pipeline.marks import Marks
from proxy.pipeline.passing import Passing
from proxy.pipeline.planning import make_planning
from proxy.pipeline.plugins import Plugin
from proxy.pipeline.recovering import Recovering
from proxy.pipeline.routes import Router
from proxy.pipeline.second_look import SecondLook
from proxy.pipeline.sending import Sending
from proxy.pipeline.settling import Settling
from proxy.pipeline.sharing import SummarySharing
from proxy.pipeline.summarizing import Summarizing
from proxy.pipeline.tasks import TaskKeeper
from proxy.pipeline.viewing import Viewer
from proxy.pipeline.work import OffLoopWork
from proxy.pipeline.writers import Writers
from proxy.records.store import RecordStore
from proxy.summaries.extractive import ExtractiveSummarizer
from proxy.telemetry.metrics import Metrics
from proxy.telemetry.traces import Tracer
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary
from proxy.upstream.client import UpstreamClient
from proxy.upstream.discovery import WindowDiscovery
from proxy.upstream.passthrough import PassthroughHandler


@dataclass(frozen=True, slots=True)
class Core:
    """
    What every room shares, and what has to be let go of at the end.
    """

    clock: Callable[[], float]
    store: RecordStore
    secret: bytes
    vocabulary: Vocabulary
    counter: TokenCounter
    router: Router
    client: UpstreamClient
    discovery: WindowDiscovery
    work: OffLoopWork
    tasks: TaskKeeper
    metrics: Metrics
    plugins: tuple[Plugin, ...]
    journal: Journal
    marks: Marks
    accounts: Accounts
    tracer: Tracer


@dataclass(frozen=True, slots=True)
class Serving:
    """
    What settings that may change at any time shape.
    """

    handler: Handlers
    parts: Parts
    diagnosing: Diagnosing


def serving_of(settings: AppSettings, core: Core, knowledge: Knowledge) -> Serving:
    """
    Put together what answers requests by *settings*.
    """
    sending = Sending(core.client, core.router, settings.upstreams, client_keys=settings.client_keys)
    identifier = Identifier(core.secret, namespace=settings.store.namespace)
    viewer = Viewer(settings.limits.json_depth, recent_bytes=settings.limits.recent_bodies)
    shared = (core.counter, core.router, identifier, knowledge, viewer)
    parts = Parts(*shared, core.store, core.work, core.tasks, core.clock)
    chat = _chat(settings, core, parts, sending)
    return Serving(
        Handlers(chat, Passing(PassthroughHandler(core.client, sending.of_request), core.router)),
        parts,
        Diagnosing(knowledge, identifier, core.discovery, core.vocabulary, clock=core.clock),
    )


def _chat(settings: AppSettings, core: Core, parts: Parts, sending: Sending) -> ChatCompletions:
    identifier, knowledge = parts.identifier, parts.knowledge
    planning = make_planning(_groundwork(settings, core, knowledge, sending), identifier, knowledge, core.store)
    learning = Learning(knowledge, metrics=core.metrics)
    return ChatCompletions(
        core.router,
        identifier,
        Steps(
            planning.planner,
            Recovering(planning.planner, sending.send, learning, metrics=core.metrics),
            Settling(
                SecondLook(learning, planning.planner.measured, core.tasks),
                planning.preparation,
                metrics=core.metrics,
                journal=core.journal,
                accounts=core.accounts,
                clock=core.clock,
            ),
            core.metrics,
            parts.viewer,
            core.tracer,
        ),
        clock=core.clock,
        disclose=settings.disclose,
    )


def _groundwork(settings: AppSettings, core: Core, knowledge: Knowledge, sending: Sending) -> Groundwork:
    habits = Habits(core.store, core.tasks, metrics=core.metrics, clock=core.clock)
    looked_up = habits.looked_up
    return Groundwork(
        counter=core.counter,
        engines={engine.name: engine for engine in (Compressor(core.counter), WindowEngine(core.counter))},
        conversations=Conversations(core.store, metrics=core.metrics, marks=core.marks, looked_up=looked_up),
        summarizing=_summarizing(core, knowledge, sending, habits),
        habits=habits,
        archive=Archive(core.store, core.tasks, settings.store),
        tasks=core.tasks,
        metrics=core.metrics,
        clock=core.clock,
    )


def _summarizing(core: Core, knowledge: Knowledge, sending: Sending, habits: Habits) -> Summarizing:
    fallback = ExtractiveSummarizer(core.counter, work=core.work)
    asker = MeteredAsker(core.client, sending.of_summary, accounts=core.accounts)
    writers = Writers(asker, core.counter, fallback, work=core.work, knowledge=knowledge, clock=core.clock)
    desk = SummaryDesk(core.tasks, SummarySharing(core.store, core.tasks))
    return Summarizing(desk, writers, fallback, habits=habits, metrics=core.metrics, hooks=Hooks(core.plugins))
