"""
Run what wiring builds: in this process, or in several that share the port, the token tables and the admin port.

    workers: 1    one process listens on both ports
    workers: N    a supervisor that neither serves nor runs an event loop, so that it may fork; under it N workers,
                  each with a listening socket of its own, and a process for the admin port, which asks the workers
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from proxy.admin.channel import Desk, answer_on
from proxy.admin.contract import AdminSource
from proxy.admin.fanout import PUBLISH, ManyProcesses
from proxy.admin.listen import AdminListening
from proxy.admin.merged import MergedSource
from proxy.admin.questions import Details, questions_of, streams_of
from proxy.admin.settings import DEFAULT_LISTEN, AdminSettings
from proxy.config.environment import environment
from proxy.config.settings import AppSettings
from proxy.config.strays import Stray
from proxy.errors import SettingsError
from proxy.pipeline.heap import keep_large_apart
from proxy.pipeline.workshop import Workshop
from proxy.reloading import Read, Reloading, Written
from proxy.server.app import Edge
from proxy.server.contract import Readiness
from proxy.server.ports import SharedPort, check_free, open_port
from proxy.server.run import Listening, run, until_signal, until_supervisor
from proxy.server.supervisor import REFUSED, Job, Supervisor
from proxy.telemetry.address import split_address
from proxy.telemetry.libraries import tell_of_libraries
from proxy.telemetry.lines import Lines
from proxy.telemetry.logs import set_up_log
from proxy.telemetry.shared_metrics import collect_metrics, forget_gauges, share_metrics
from proxy.tokens.vocabulary import Vocabulary
from proxy.wiring import Begun, Proxy, build

log = structlog.get_logger()
_A_MOMENT = 0.001
"""Seconds in which the loop answers what has come in."""
_LAST_SECONDS = 5.0
"""What a worker may take to let go of everything, once its exchanges have ended."""


def serve(
    settings: AppSettings, read: Read | None = None, *, strays: Sequence[Stray] = (), lifeline: int | None = None
) -> int:
    """
    Serve until SIGTERM or SIGINT, and return the exit code; SIGHUP has *read* find the settings as they are then.

    One process also ends when *lifeline* does, a pipe whose other end is held by whoever started it.
    """
    lines = set_up_log(settings.log, terminal=sys.stdout.isatty())
    tell_of_libraries()
    for stray in strays:
        log.warning("environment.stray", variable=stray.variable, hint=stray.hint)
    keep_large_apart()
    written = Written(settings, read)
    if hasattr(signal, "SIGHUP"):
        # One that comes before there is anything to reload must not end the process.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        if settings.workers > 1:
            return _serve_in_workers(written, lines)
        return _in_loop(partial(_serve, written, environment(), lifeline), lines)
    except OSError as fault:
        hint = "concertina doctor tells what is in the way"
        log.critical("proxy.cannot_listen", listen=settings.listen, fault=fault.strerror or str(fault), hint=hint)
        return 1


async def _serve(written: Written, environ: Mapping[str, str], lifeline: int | None) -> None:
    settings = written.settings
    edge = Edge(limits=settings.limits, client_keys=settings.client_keys, ready=_not_yet)
    listening = Listening(edge)
    sockets = open_port(*split_address(settings.listen))
    await listening.start_on(sockets)
    begun = await _begun_behind(edge)
    async with _built(written, environ, begun) as running:
        proxy = running.proxy
        proxy.begin()
        host, port = sockets[0].getsockname()[:2]
        log.info("proxy.listening", host=host, port=port, workers=1)
        async with _admin_port(settings.admin, proxy.admin):
            stop = partial(listening.stop, drain=settings.limits.drain)
            await until_signal(stop, hangup=running, lifeline=lifeline)


def _not_yet() -> Readiness:
    return Readiness(ready=False, notes=("token tables are loading",))


async def _begun_behind(edge: Edge) -> Begun:
    """
    Load the token tables while *edge* answers whether this process is alive; other requests wait there.

    On this thread, since there must be no other when the process for long work is forked: the loop has pauses of a tenth of
    a second, which is also what a thread would hold the interpreter lock for.
    """
    vocabulary = Vocabulary()
    await asyncio.sleep(_A_MOMENT)
    for _ in _loading(vocabulary):
        await asyncio.sleep(_A_MOMENT)
    return Begun(vocabulary, Workshop.fork(vocabulary.count), edge)


@asynccontextmanager
async def _built(written: Written, environ: Mapping[str, str], begun: Begun) -> AsyncIterator[Reloading]:
    """
    Build a proxy and let go of it whatever happens: its store has a thread, which would keep the process.
    """
    proxy = await build(written.settings, environ=environ, begun=begun)
    # What is there now stays: no collection needs to look at it again.
    gc.collect()
    gc.freeze()
    running = Reloading(proxy, written)
    try:
        yield running
    finally:
        await running.proxy.close()


def _serve_in_workers(written: Written, lines: Lines) -> int:
    settings = written.settings
    if not hasattr(os, "fork"):
        log.critical("workers.unavailable")
        return REFUSED
    if settings.store.url.startswith("memory://"):
        log.warning("workers.memory_store", workers=settings.workers)
    if settings.admin.listen not in {None, DEFAULT_LISTEN}:
        check_free(*split_address(settings.admin.listen or ""))
    host, port = split_address(settings.listen)
    port_of_all = SharedPort(host, port, settings.workers)
    vocabulary = _loaded_vocabulary()
    with tempfile.TemporaryDirectory(prefix="concertina-") as folder:
        crew = _Crew(written, environment(), port_of_all, vocabulary, Path(folder), lines)
        host, port = port_of_all.address
        log.info("proxy.listening", host=host, port=port, workers=settings.workers)
        return Supervisor(
            crew.jobs(),
            patience=settings.limits.drain + _LAST_SECONDS,
            stopping=port_of_all.close_all,
            # A file with a mistake in it stops here, told once; and a worker that starts later starts with what is right.
            hangup=lambda: written.again() is not None,
        ).run()


def _loaded_vocabulary() -> Vocabulary:
    """
    Load the token tables once for all processes, whose memory shares them.
    """
    vocabulary = Vocabulary()
    for _ in _loading(vocabulary):
        pass
    return vocabulary


def _loading(vocabulary: Vocabulary) -> Iterator[None]:
    """
    Load the token tables step by step, so that processes forked after the last one share them.
    """
    try:
        yield from vocabulary.loading()
    except (OSError, ValueError) as fault:
        log.warning("vocabulary.failed", fault=str(fault))
    yield
    # What is frozen is not looked at by the collectors of those forked, so its pages stay shared.
    gc.collect()
    gc.freeze()


@dataclass(frozen=True, slots=True)
class _Crew:
    """
    The processes under the supervisor; *folder* holds their sockets and metrics.
    """

    written: Written
    environ: Mapping[str, str]
    port: SharedPort
    vocabulary: Vocabulary
    folder: Path
    lines: Lines

    def jobs(self) -> list[Job]:
        """
        Return the workers and, unless it is switched off, the process of the admin port.
        """
        found = [self._worker(number) for number in range(self.written.settings.workers)]
        if self.written.settings.admin.listen is not None:
            found.append(Job("admin", lambda: _in_loop(self._serve_admin, self.lines), outlasts=True))
        return found

    def _worker(self, number: int) -> Job:
        def prepare() -> None:
            forget_gauges(self.folder, number)
            self.port.open(number)

        return Job(
            f"worker-{number}",
            lambda: _in_loop(partial(self._serve_as, number, self._begun()), self.lines),
            prepare=prepare,
            rest=partial(self.port.close, number),
        )

    def _begun(self) -> Begun:
        """
        Begin what has to be there before a worker's event loop and its threads are.
        """
        return Begun(self.vocabulary, Workshop.fork(self.vocabulary.count))

    async def _serve_as(self, number: int, begun: Begun) -> None:
        share_metrics(self.folder, number)
        sockets = self.port.take(number)
        settings = self.written.settings
        async with _built(self.written, self.environ, begun) as running:
            proxy = running.proxy
            answering = await answer_on(self._socket(number), _desk(proxy))
            listening = await proxy.start_on(sockets)
            stop = partial(listening.stop, drain=settings.limits.drain)
            await until_supervisor(stop, hangup=running)
            answering.close()

    async def _serve_admin(self) -> None:
        self.port.close_all()
        paths = [self._socket(number) for number in range(self.written.settings.workers)]
        workers = ManyProcesses(paths, collect=partial(collect_metrics, self.folder))
        async with _admin_port(self.written.settings.admin, MergedSource(workers)):
            await until_supervisor(_at_once)

    def _socket(self, number: int) -> Path:
        return self.folder / f"worker-{number}.sock"


def _in_loop(main: Callable[[], Coroutine[object, object, None]], lines: Lines) -> int:
    async def logged() -> None:
        with lines.gathered(asyncio.get_running_loop()):
            await main()

    try:
        run(logged())
    except SettingsError as fault:
        log.critical("proxy.refused", fault=str(fault))
        return REFUSED
    return 0


async def _at_once() -> None:
    """
    Leave nothing to wait for.
    """


def _desk(proxy: Proxy) -> Desk:
    """
    Return what a worker answers to the admin process.
    """

    async def publish(_: Details) -> None:
        proxy.core.metrics.publish()

    async def worker(_: Details) -> Mapping[str, int]:
        return {"pid": os.getpid(), "inflight": proxy.edge.inflight}

    return Desk({**questions_of(proxy.admin), PUBLISH: publish, "worker": worker}, streams_of(proxy.admin))


@asynccontextmanager
async def _admin_port(settings: AdminSettings, source: AdminSource) -> AsyncIterator[None]:
    """
    Serve the admin port while the block runs.
    """
    listening = AdminListening(source, settings)
    await listening.start()
    try:
        yield
    finally:
        await listening.stop()
