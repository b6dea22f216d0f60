"""
Build everything once, explicitly, from settings.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from proxy.admin.contract import AdminSource
from proxy.admin.local import LocalSource, Rooms
from proxy.config.settings import AppSettings
from proxy.engines.compressor import Compressor
from proxy.engines.window import Window as WindowEngine
from proxy.pipeline.accounts import Accounts, MeteredAsker
from proxy.pipeline.chat_completions import ChatCompletions, Steps
from proxy.pipeline.chores import start_chores
from proxy.pipeline.compacting import Compacting
from proxy.pipeline.conversations import Conversations
from proxy.pipeline.desk import SummaryDesk
from proxy.pipeline.diagnosis import Diagnosing
from proxy.pipeline.discovering import first_word
from proxy.pipeline.explainer import Explainer, Parts
from proxy.pipeline.handlers import Handlers
from proxy.pipeline.history import History
from proxy.pipeline.hooks import Hooks
from proxy.pipeline.identify import Identifier
from proxy.pipeline.journal import Journal
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.learning import Learning
from proxy.pipeline.ledger import Ledger
from proxy.pipeline.marks import Marks
from proxy.pipeline.passing import Passing
from proxy.pipeline.planner import Planner
from proxy.pipeline.plugins import Plugin, load_plugins
from proxy.pipeline.prepare import Preparation
from proxy.pipeline.prices import PriceBook
from proxy.pipeline.recovering import Recovering
from proxy.pipeline.routes import Router
from proxy.pipeline.second_look import SecondLook
from proxy.pipeline.sending import Sending
from proxy.pipeline.settling import Settling
from proxy.pipeline.summarizing import Summarizing
from proxy.pipeline.tasks import TaskKeeper
from proxy.pipeline.viewing import Viewer
from proxy.pipeline.work import OffLoopWork
from proxy.pipeline.writers import Writers
from proxy.records.open import open_store
from proxy.records.secret import load_secret
from proxy.records.store import RecordStore
from proxy.server.app import Edge
from proxy.server.readiness import readiness
from proxy.server.run import Listening
from proxy.summaries.extractive import ExtractiveSummarizer
from proxy.telemetry.metrics import Metrics
from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary
from proxy.upstream.client import UpstreamClient
from proxy.upstream.discovery import WindowDiscovery
from proxy.upstream.passthrough import PassthroughHandler

log = structlog.get_logger()
COUNT_CACHE_BYTES = 32 * 1024 * 1024


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


@dataclass(frozen=True, slots=True)
class Proxy:
    """
    A built proxy: the *edge* to listen with, what the *admin* port and people are told by, and the *core* behind all.
    """

    settings: AppSettings
    edge: Edge
    admin: AdminSource
    explainer: Explainer
    diagnosing: Diagnosing
    knowledge: Knowledge
    core: Core

    async def start(self, host: str, port: int, *, reuse_port: bool = False) -> tuple[Listening, str, int]:
        """
        Listen; the token tables load behind it, and readiness waits until they did or cannot.
        """
        listening = self._begin()
        bound_host, bound_port = await listening.start(host, port, reuse_port=reuse_port)
        return listening, bound_host, bound_port

    async def start_on(self, sockets: Sequence[socket.socket]) -> Listening:
        """
        Listen on sockets that the supervisor of several workers opened.
        """
        listening = self._begin()
        await listening.start_on(sockets)
        return listening

    def _begin(self) -> Listening:
        core = self.core
        start_chores(core.tasks, core.vocabulary, core.accounts.prices, core.store, core.clock)
        return Listening(self.edge)

    async def close(self) -> None:
        """
        Let go of connections, files and processes.
        """
        await self.core.tasks.drain(0.5)
        await self.knowledge.flush()
        await self.core.discovery.close()
        await self.core.client.close()
        await self.core.store.close()
        self.core.work.close()


async def build(
    settings: AppSettings, *, environ: Mapping[str, str] | None = None, vocabulary: Vocabulary | None = None
) -> Proxy:
    """
    Return a proxy made from *settings*; needs the running loop. Raises ``SettingsError``.
    """
    core = await _core(settings, environ or {}, vocabulary or Vocabulary())
    sending = Sending(core.client, core.router, settings.upstreams, client_keys=settings.client_keys)
    knowledge = _knowledge(settings, core)
    chat = _chat(settings, core, knowledge, sending)
    edge = Edge(
        Handlers(chat, Passing(PassthroughHandler(core.client, sending.of_request), core.router)),
        limits=settings.limits,
        keepalive_after=core.router.keepalive_after,
        ready=lambda: readiness(core.store, core.vocabulary),
        client_keys=settings.client_keys,
    )
    core.metrics.watch(core.metrics.inflight, lambda: edge.inflight)
    explainer = _explainer(settings, core, knowledge)
    return Proxy(
        settings,
        edge,
        _admin(settings, core, knowledge, explainer),
        explainer,
        _diagnosing(settings, core, knowledge),
        knowledge,
        core,
    )


async def _core(settings: AppSettings, environ: Mapping[str, str], vocabulary: Vocabulary) -> Core:
    clock = time.time  # noqa: TID251 - the one place that hands out the clock
    store = await open_store(settings.store, clock=clock)
    tasks, metrics = TaskKeeper(), Metrics()
    counter = TokenCounter(vocabulary, CountCache(max_bytes=COUNT_CACHE_BYTES))
    return Core(
        clock=clock,
        store=store,
        secret=await load_secret(store, settings.store),
        vocabulary=vocabulary,
        counter=counter,
        router=Router(
            settings.routes,
            first_upstream=next(iter(settings.upstreams)),
            compaction=settings.compaction,
            recovery=settings.recovery,
        ),
        client=UpstreamClient(settings.upstreams, environ=environ),
        discovery=WindowDiscovery(
            settings.upstreams,
            spawn=lambda work: tasks.start(work, name="discovery"),
            clock=time.monotonic,
            environ=environ,
            client_keys=settings.client_keys,
        ),
        work=OffLoopWork(counter),
        tasks=tasks,
        metrics=metrics,
        plugins=await asyncio.to_thread(load_plugins, settings.plugins_dir),
        journal=Journal(keep=settings.admin.keep_exchanges),
        marks=Marks(clock),
        accounts=Accounts(
            PriceBook(settings.upstreams, settings.models, clock=clock), Ledger(), metrics=metrics, clock=clock
        ),
    )


def _knowledge(settings: AppSettings, core: Core) -> Knowledge:
    return Knowledge(
        settings.upstreams,
        settings.models,
        discover=first_word(core.discovery),
        store=core.store,
        tasks=core.tasks,
        clock=core.clock,
    )


def _explainer(settings: AppSettings, core: Core, knowledge: Knowledge) -> Explainer:
    identifier = Identifier(core.secret, namespace=settings.store.namespace)
    viewer = Viewer(settings.limits.json_depth)
    shared = (core.counter, core.router, identifier, knowledge, viewer)
    return Explainer(Parts(*shared, core.store, core.work, core.tasks, core.clock))


def _diagnosing(settings: AppSettings, core: Core, knowledge: Knowledge) -> Diagnosing:
    identifier = Identifier(core.secret, namespace=settings.store.namespace)
    return Diagnosing(knowledge, identifier, core.discovery, core.vocabulary, clock=core.clock)


def _admin(settings: AppSettings, core: Core, knowledge: Knowledge, explainer: Explainer) -> AdminSource:
    return LocalSource(
        Rooms(
            store=core.store,
            history=History(core.store, clock=core.clock, ttl_seconds=settings.store.ttl),
            journal=core.journal,
            ledger=core.accounts.ledger,
            knowledge=knowledge,
            marks=core.marks,
            metrics=core.metrics,
            clock=core.clock,
            explain=explainer.of_body,
        )
    )


def _chat(settings: AppSettings, core: Core, knowledge: Knowledge, sending: Sending) -> ChatCompletions:
    identifier = Identifier(core.secret, namespace=settings.store.namespace)
    conversations = Conversations(core.store, metrics=core.metrics, marks=core.marks)
    compacting = Compacting(
        core.counter,
        {engine.name: engine for engine in (Compressor(core.counter), WindowEngine(core.counter))},
        conversations=conversations,
        summarizing=_summarizing(settings, core, knowledge, sending),
        tasks=core.tasks,
        clock=core.clock,
    )
    preparation = Preparation(compacting, conversations, core.tasks)
    planner = Planner(
        core.counter,
        conversations=conversations,
        identifier=identifier,
        knowledge=knowledge,
        compacting=compacting,
        preparation=preparation,
    )
    learning = Learning(knowledge, metrics=core.metrics)
    return ChatCompletions(
        core.router,
        identifier,
        Steps(
            planner,
            Recovering(planner, sending.send, learning, metrics=core.metrics),
            Settling(
                SecondLook(learning, planner.measured, core.tasks),
                preparation,
                metrics=core.metrics,
                journal=core.journal,
                accounts=core.accounts,
                clock=core.clock,
            ),
            core.metrics,
            Viewer(settings.limits.json_depth),
        ),
        clock=core.clock,
        disclose=settings.disclose,
    )


def _summarizing(settings: AppSettings, core: Core, knowledge: Knowledge, sending: Sending) -> Summarizing:
    fallback = ExtractiveSummarizer(core.counter, work=core.work)
    asker = MeteredAsker(core.client, sending.of_summary, accounts=core.accounts)
    writers = Writers(asker, core.counter, fallback, work=core.work, knowledge=knowledge, clock=core.clock)
    desk = SummaryDesk(core.tasks, concurrent=settings.compaction.summarizer.max_concurrent)
    return Summarizing(desk, writers.writer, fallback, metrics=core.metrics, hooks=Hooks(core.plugins))
