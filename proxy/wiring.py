"""
Build everything once, explicitly, from settings.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from proxy.admin.contract import AdminSource
from proxy.admin.local import LocalSource, Rooms
from proxy.assembly import Core, serving_of
from proxy.config.settings import AppSettings
from proxy.pipeline.accounts import Accounts
from proxy.pipeline.chores import start_chores
from proxy.pipeline.diagnosis import Diagnosing
from proxy.pipeline.discovering import first_word
from proxy.pipeline.explainer import Explainer
from proxy.pipeline.history import History
from proxy.pipeline.journal import Journal
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.ledger import Ledger
from proxy.pipeline.marks import Marks
from proxy.pipeline.plugins import load_plugins
from proxy.pipeline.prices import PriceBook
from proxy.pipeline.routes import Router
from proxy.pipeline.tasks import TaskKeeper
from proxy.pipeline.work import OffLoopWork
from proxy.pipeline.workshop import Workshop
from proxy.records.open import look_into_store, open_store
from proxy.records.secret import load_secret
from proxy.records.store import RecordStore
from proxy.server.app import Edge
from proxy.server.readiness import readiness
from proxy.server.run import Listening
from proxy.telemetry.metrics import Metrics
from proxy.telemetry.traces import Tracer, open_tracer
from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary
from proxy.upstream.client import UpstreamClient
from proxy.upstream.discovery import WindowDiscovery

log = structlog.get_logger()
COUNT_CACHE_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Begun:
    """
    What a process has before its proxy: the *vocabulary*, a process beside it that shares its tables, and the *edge*, where
    requests may wait already.
    """

    vocabulary: Vocabulary
    workshop: Workshop | None = None
    edge: Edge | None = None


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
        self.begin()
        listening = Listening(self.edge)
        bound_host, bound_port = await listening.start(host, port, reuse_port=reuse_port)
        return listening, bound_host, bound_port

    async def start_on(self, sockets: Sequence[socket.socket]) -> Listening:
        """
        Listen on sockets that the supervisor of several workers opened.
        """
        self.begin()
        listening = Listening(self.edge)
        await listening.start_on(sockets)
        return listening

    def begin(self) -> None:
        """
        Begin what runs beside the exchanges.
        """
        core = self.core
        start_chores(core.tasks, core.vocabulary, core.accounts.prices, core.store, core.clock)

    def look_again(self) -> None:
        """
        Read files that settings name again with the next request, where they were written anew.
        """
        self.core.client.look_again()
        self.core.discovery.look_again()

    async def close(self) -> None:
        """
        Let go of connections, files and processes.
        """
        await self.core.tasks.drain(0.5)
        await self.knowledge.flush()
        await self.core.discovery.close()
        await self.core.client.close()
        await self.core.store.close()
        await asyncio.to_thread(self.core.tracer.close)
        self.core.work.close()


async def build(
    settings: AppSettings,
    *,
    environ: Mapping[str, str] | None = None,
    begun: Begun | None = None,
    vocabulary: Vocabulary | None = None,
    clock: Callable[[], float] = time.time,  # noqa: TID251 - the one place that hands out the clock
    tracer: Tracer | None = None,
) -> Proxy:
    """
    Return a proxy made from *settings*; needs the running loop. Raises ``SettingsError``.

    What was *begun* before is closed with the proxy.
    """
    store = await open_store(settings.store, clock=clock)
    begun = begun or Begun(vocabulary or Vocabulary())
    return await _closed_if_not(_built(settings, store, environ or {}, begun, clock, tracer), store)


async def build_to_look(
    settings: AppSettings,
    *,
    environ: Mapping[str, str],
    vocabulary: Vocabulary,
    clock: Callable[[], float] = time.time,  # noqa: TID251 - as above
) -> Proxy:
    """
    Return a proxy to be asked, not to serve: nothing in its store changes. Raises ``SettingsError``, ``StoreError``.
    """
    store = await look_into_store(settings.store, clock=clock)
    return await _closed_if_not(_built(settings, store, environ, Begun(vocabulary), clock, None), store)


async def _closed_if_not(built: Awaitable[Proxy], store: RecordStore) -> Proxy:
    try:
        return await built
    except BaseException:
        # The store has a thread of its own, which would keep a process alive that neither serves nor ends.
        await store.close()
        raise


async def _built(
    settings: AppSettings,
    store: RecordStore,
    environ: Mapping[str, str],
    begun: Begun,
    clock: Callable[[], float],
    tracer: Tracer | None,
) -> Proxy:
    core = await _core(settings, store, environ, begun, clock, tracer)
    knowledge = _knowledge(settings, core)
    serving = serving_of(settings, core, knowledge)
    edge = begun.edge or Edge(limits=settings.limits)
    edge.serve_with(
        serving.handler,
        keepalive_after=core.router.keepalive_after,
        client_keys=settings.client_keys,
        ready=lambda: readiness(core.store, core.vocabulary),
    )
    core.metrics.watch(core.metrics.inflight, lambda: edge.inflight)
    explainer = Explainer(serving.parts)
    admin = _admin(settings, core, knowledge, explainer)
    return Proxy(settings, edge, admin, explainer, serving.diagnosing, knowledge, core)


def renew(proxy: Proxy, settings: AppSettings) -> Proxy:
    """
    Return *proxy* under other *settings*: new requests go by them, those that run end under the old ones.

    Both share ports, store, and all that was learned and counted; either one closes them all.
    """
    old = proxy.core
    core = replace(
        old,
        router=_router(settings),
        client=old.client.renewed(settings.upstreams),
        discovery=old.discovery.renewed(settings.upstreams, client_keys=settings.client_keys),
        accounts=old.accounts.renewed(settings.upstreams, settings.models),
    )
    knowledge = proxy.knowledge.renewed(settings.upstreams, settings.models, discover=first_word(core.discovery))
    serving = serving_of(settings, core, knowledge)
    proxy.explainer.renew(serving.parts)
    proxy.edge.serve_with(
        serving.handler, keepalive_after=core.router.keepalive_after, client_keys=settings.client_keys
    )
    return replace(proxy, settings=settings, diagnosing=serving.diagnosing, knowledge=knowledge, core=core)


async def _core(
    settings: AppSettings,
    store: RecordStore,
    environ: Mapping[str, str],
    begun: Begun,
    clock: Callable[[], float],
    tracer: Tracer | None,
) -> Core:
    tasks, metrics = TaskKeeper(), Metrics()
    counter = TokenCounter(begun.vocabulary, CountCache(max_bytes=COUNT_CACHE_BYTES))
    return Core(
        clock=clock,
        store=store,
        secret=await load_secret(store, settings.store),
        vocabulary=begun.vocabulary,
        counter=counter,
        router=_router(settings),
        client=UpstreamClient(settings.upstreams, environ=environ),
        discovery=WindowDiscovery(
            settings.upstreams,
            spawn=lambda work: tasks.start(work, name="discovery"),
            clock=time.monotonic,
            environ=environ,
            client_keys=settings.client_keys,
        ),
        work=OffLoopWork(counter, begun.workshop),
        tasks=tasks,
        metrics=metrics,
        plugins=await asyncio.to_thread(load_plugins, settings.plugins_dir),
        journal=Journal(keep=settings.admin.keep_exchanges),
        marks=Marks(clock),
        accounts=Accounts(
            PriceBook(settings.upstreams, settings.models, clock=clock), Ledger(), metrics=metrics, clock=clock
        ),
        tracer=tracer or open_tracer(settings.otlp),
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


def _router(settings: AppSettings) -> Router:
    return Router(
        settings.routes,
        first_upstream=next(iter(settings.upstreams)),
        compaction=settings.compaction,
        recovery=settings.recovery,
    )


def _admin(settings: AppSettings, core: Core, knowledge: Knowledge, explainer: Explainer) -> AdminSource:
    return LocalSource(
        Rooms(
            store=core.store,
            history=History(core.store, clock=core.clock, ttl_seconds=settings.store.ttl),
            journal=core.journal,
            ledger=core.accounts.ledger,
            health=core.accounts.health,
            knowledge=knowledge,
            marks=core.marks,
            metrics=core.metrics,
            clock=core.clock,
            explain=explainer.of_body,
        )
    )
