"""
A process beside this one where long work is done, so that no stream waits for it.

It is forked while there are no threads, whose locks a fork would inherit, and shares the token tables; where it is too
late for that, one is started that loads them for itself. Of an event loop that runs already it keeps nothing open.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar, cast

from proxy.pipeline.workbench import FORKS, Count, Job, receive, send, work

T = TypeVar("T")
_FIRST_FREE = 3  # after standard input, output and error
_BEGIN = (
    "import sys; sys.path[:] = sys.argv[1:]\n"
    "import proxy.pipeline.work\n"  # what jobs need, which each of them would import anew
    "import proxy.pipeline.workbench as bench; bench.begin()"
)


class WorkshopError(Exception):
    """
    A job could not be done, or nobody can know whether it was; the next one may well be.
    """


class WorkshopGoneError(WorkshopError):
    """
    The process for long work is gone, and the job with it.
    """


class _Process(Protocol):
    @property
    def pid(self) -> int:
        """
        Return its id.
        """

    def kill(self) -> None:
        """
        End it at once.
        """

    def wait(self) -> int:
        """
        Wait for its end.
        """


@dataclass(frozen=True, slots=True)
class _Forked:
    pid: int

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        with suppress(ChildProcessError):
            return os.waitpid(self.pid, 0)[1]
        return 0


class Workshop:
    """
    Does one job at a time; ``do`` blocks, so call it in a thread.
    """

    def __init__(self, process: _Process, asking: BinaryIO, answers: BinaryIO) -> None:
        self.pid = process.pid
        self.answered = 0
        """How many jobs came to an end."""
        self._process = process
        self._asking = asking
        self._answers = answers
        self._busy = threading.Lock()

    @classmethod
    def fork(cls, count: Count) -> Workshop | None:
        """
        Fork it; ``None`` where that is not safe. *count* counts the tokens of a text, there as here.
        """
        if not FORKS or not _alone():
            return None
        asked, asking = os.pipe()
        answers, answering = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                _close_all_but(asked, answering)
                work(os.fdopen(asked, "rb"), os.fdopen(answering, "wb"), count)
            finally:
                os._exit(1)
        os.close(asked)
        os.close(answering)
        return cls(_Forked(pid), os.fdopen(asking, "wb"), os.fdopen(answers, "rb"))

    @classmethod
    def start(cls) -> Workshop:
        """
        Start it as a program of its own, which may be done at any time. Raises ``OSError``.
        """
        command = [sys.executable, "-P", "-c", _BEGIN, *sys.path]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - our own
        return cls(process, cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout))

    def do(self, job: Job[T]) -> T:
        """
        Return what *job* returns, or raise what it raises; ``WorkshopError`` where that cannot be known.
        """
        asked = pickle.dumps(job)
        with self._busy:
            try:
                send(self._asking, asked)
                answer = receive(self._answers)
            except (OSError, ValueError) as fault:  # a ValueError where it was closed
                raise WorkshopGoneError(str(fault)) from fault
            self.answered += 1
        if not answer:
            raise WorkshopError("the process that did the job was killed")
        raised, value = pickle.loads(answer)  # noqa: S301 - from our own process
        if raised:
            raise value
        return value  # type: ignore[no-any-return]

    def close(self) -> None:
        """
        End it; a job that runs is waited for by nobody.
        """
        self._process.kill()
        self._process.wait()
        with self._busy:
            for line in (self._asking, self._answers):
                with suppress(OSError):
                    line.close()


def _alone() -> bool:
    """
    Say whether this is the only thread, be the others Python's or not.
    """
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return threading.active_count() == 1


def _close_all_but(*kept: int) -> None:
    """
    Close what was inherited: a port held here would stay open when the process that serves it is gone.
    """
    for line in _inherited():
        if line not in kept:
            with suppress(OSError):  # the list itself was read from one
                os.close(line)


def _inherited() -> Iterable[int]:
    # What is open is listed, since what may be open can be a thousand million, where no limit is set.
    try:
        found = [int(line.name) for line in Path("/proc/self/fd").iterdir()]
    except OSError:
        return range(_FIRST_FREE, os.sysconf("SC_OPEN_MAX"))
    return [line for line in found if line >= _FIRST_FREE]
