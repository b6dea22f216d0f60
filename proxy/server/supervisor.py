"""
Keep child processes running: restart those that die, hand signals on, end them all in good order.

The parent has neither threads nor an event loop, so that it may fork at any time to replace a child.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess

import structlog

log = structlog.get_logger()
REFUSED = 2
"""Exit code of a child whose settings cannot be met: another start would end the same way."""
LIVED_SECONDS = 10.0
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 30.0
BEARABLE_PAUSE = 0.5
"""Seconds that clients may wait for a worker's next start; before a longer pause they are sent to the others."""
_ENDING = (signal.SIGTERM, signal.SIGINT)
_HANGUP = getattr(signal, "SIGHUP", None)  # there is none on Windows, nor are there forks
_HANDLED = _ENDING if _HANGUP is None else (*_ENDING, _HANGUP)


def _nothing() -> None:
    """
    Do nothing.
    """


def _always() -> bool:
    """
    Hand every hangup on.
    """
    return True


@dataclass(frozen=True, slots=True)
class Job:
    """
    What a child runs, until it returns its exit code.

    *prepare* runs in the parent before every start, *rest* when the next start is far off. A job that *outlasts* the others
    is told to end after they have.
    """

    name: str
    run: Callable[[], int]
    prepare: Callable[[], None] = _nothing
    rest: Callable[[], None] = _nothing
    outlasts: bool = False


@dataclass(slots=True)
class _Child:
    job: Job
    process: ForkProcess | None = None
    born: float = 0.0
    due: float = 0.0
    early_deaths: int = 0


def pause_after(early_deaths: int) -> float:
    """
    Return the seconds before the next start: none after a long life, twice as many after each short one.
    """
    return min(FIRST_PAUSE * 2 ** (early_deaths - 1), LONGEST_PAUSE) if early_deaths else 0.0


class Supervisor:
    """
    Runs *jobs* until SIGTERM or SIGINT, then gives them *patience* seconds to end; *stopping* runs first of all.

    *hangup* runs at each SIGHUP and says whether the jobs are to hear of it.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        patience: float,
        stopping: Callable[[], None] = _nothing,
        hangup: Callable[[], bool] = _always,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._children = [_Child(job) for job in jobs]
        self._patience = patience
        self._stopping = stopping
        self._hangup = hangup
        self._clock = clock
        self._deadline: float | None = None
        self._code = 0

    def run(self) -> int:
        """
        Return the exit code: 0 when all ended in order, 1 when one did not, 2 when the settings cannot be met.
        """
        with _signals() as told:
            self._start_due()
            while self._deadline is None or self._running():
                wait([told, *(process.sentinel for _, process in self._running())], self._pause())
                for number in _read(told):
                    self._handle(number)
                self._reap()
                self._start_due()
                self._press()
        return self._code

    def _running(self) -> list[tuple[_Child, ForkProcess]]:
        return [(child, child.process) for child in self._children if child.process is not None]

    def _pause(self) -> float | None:
        """
        Return the seconds until something is due.
        """
        if self._deadline is not None:
            return max(0.0, self._deadline - self._clock())
        due = [child.due for child in self._children if child.process is None]
        return max(0.0, min(due) - self._clock()) if due else None

    def _handle(self, number: int) -> None:
        if number == _HANGUP:
            if self._hangup():
                self._tell(number)
        elif self._deadline is None:
            self._stop()
        else:
            # Told twice: no more patience.
            self._deadline = self._clock()

    def _stop(self) -> None:
        self._deadline = self._clock() + self._patience
        self._stopping()
        self._tell(signal.SIGTERM)

    def _tell(self, number: int) -> None:
        """
        Send a signal to the workers; to those that outlast them, when none of them is left.
        """
        running = self._running()
        first = [process for child, process in running if not child.job.outlasts]
        for process in first or [process for _, process in running]:
            _send(process, number)

    def _reap(self) -> None:
        for child, process in self._running():
            code = process.exitcode
            if code is None:
                continue
            process.close()
            child.process = None
            self._ended(child, code)

    def _ended(self, child: _Child, code: int) -> None:
        if self._deadline is not None:
            # One that the signal itself ended had not begun to serve.
            self._code = self._code or int(code not in {0, -signal.SIGTERM})
            self._tell(signal.SIGTERM)
        elif code == REFUSED:
            self._code = REFUSED
            self._stop()
        else:
            self._put_off(child, code)

    def _put_off(self, child: _Child, code: int | None) -> None:
        now = self._clock()
        child.early_deaths = child.early_deaths + 1 if now - child.born < LIVED_SECONDS else 0
        pause = pause_after(child.early_deaths)
        child.due = now + pause
        log.error("worker.died", worker=child.job.name, code=code, restart_in=pause)
        if pause > BEARABLE_PAUSE:
            child.job.rest()

    def _start_due(self) -> None:
        if self._deadline is not None:
            return
        for child in self._children:
            if child.process is None and child.due <= self._clock():
                self._start(child)

    def _start(self, child: _Child) -> None:
        child.born = self._clock()
        try:
            child.job.prepare()
            child.process = _fork(child.job)
        except OSError:
            # No memory, no process, no port: it may come back.
            self._put_off(child, None)

    def _press(self) -> None:
        if self._deadline is not None and self._clock() >= self._deadline:
            for _, process in self._running():
                self._code = self._code or 1
                process.kill()
                process.join()


def _fork(job: Job) -> ForkProcess:
    """
    Start a child that has the usual signal handlers, but for Ctrl-C, which the terminal sends to parent and children.
    """
    # Held back while the child still has the parent's handlers: what came then would be lost.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    try:
        process = multiprocessing.get_context("fork").Process(target=_become, args=(job, before), name=job.name)
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process


def _become(job: Job, mask: set[int]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Until it can read its settings again; without a handler the signal would end it.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    raise SystemExit(job.run())


def _send(process: ForkProcess, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process.pid or 0, number)


@contextmanager
def _signals() -> Iterator[socket.socket]:
    """
    Turn signals into bytes on a socket, so that one wait hears of them and of children that end.
    """
    reading, writing = socket.socketpair()
    reading.settimeout(0)
    writing.settimeout(0)
    handlers = {number: signal.signal(number, lambda *_: None) for number in _HANDLED}
    before = signal.set_wakeup_fd(writing.fileno())
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        reading.close()
        writing.close()


def _read(told: socket.socket) -> bytes:
    try:
        return told.recv(64)
    except BlockingIOError:
        return b""
