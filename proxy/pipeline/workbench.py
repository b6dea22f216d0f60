"""
What runs in the process for long work: one job after another, in a process of its own each where a fork is safe.

What a job takes of memory goes with it, and one that is killed takes nothing along.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, NoReturn, TypeVar

from proxy.pipeline.heap import give_back
from proxy.tokens.vocabulary import Vocabulary

T = TypeVar("T")
Count = Callable[[str], int]
Job = Callable[[Count], T]
"""What can be pickled, and is given how to count tokens."""
FORKS = sys.platform.startswith("linux")
"""Whether a process without threads may be forked without harm."""
_DEAF_TO = ("SIGINT", "SIGTERM", "SIGHUP")
_LENGTH_BYTES = 8
_OUTPUT, _ERRORS = 1, 2
_PIECE = 1 << 20
_SIGNAL_AT_PARENTS_END = 1  # PR_SET_PDEATHSIG


def send(out: BinaryIO, message: bytes) -> None:
    """
    Write one message. Raises ``OSError`` where nobody reads it.
    """
    out.write(len(message).to_bytes(_LENGTH_BYTES, "big"))
    out.write(message)
    out.flush()


def receive(source: BinaryIO) -> bytes:
    """
    Return the next message. Raises ``OSError`` where there will be none.
    """
    return _exactly(source, int.from_bytes(_exactly(source, _LENGTH_BYTES), "big"))


def _exactly(source: BinaryIO, size: int) -> bytes:
    found = source.read(size)
    if len(found) < size:
        raise ConnectionResetError("the other side is gone")
    return found


def work(asked: BinaryIO, answers: BinaryIO, count: Count) -> NoReturn:
    """
    Do jobs until nobody can ask for any; never returns into what the process was before.
    """
    try:
        # An event loop that this was forked from would hear of signals there.
        signal.set_wakeup_fd(-1)
        # The signals of a group are for the process that asks, which lets its exchanges end first.
        for name in _DEAF_TO:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
        while True:
            job = receive(asked)
            send(answers, _done_apart(job, count, (asked, answers)) if FORKS else _done_here(job, count))
    except BaseException:  # noqa: BLE001 - whatever it is, this is no place to tell it
        os._exit(0)


def begin() -> NoReturn:
    """
    Work in a process that was started for it: asked on standard input, with token tables of its own.
    """
    answers = os.fdopen(os.dup(_OUTPUT), "wb")
    # What anybody prints is no answer.
    os.dup2(_ERRORS, _OUTPUT)
    vocabulary = Vocabulary()
    with suppress(OSError, ValueError):
        vocabulary.load()
    gc.collect()
    gc.freeze()
    work(sys.stdin.buffer, answers, vocabulary.count)


def _done_here(job: bytes, count: Count) -> bytes:
    try:
        return _done(job, count)
    finally:
        give_back()


def _done_apart(job: bytes, count: Count, lines: tuple[BinaryIO, BinaryIO]) -> bytes:
    """
    Return the pickled outcome of a job done in a process of its own, nothing where that was killed or could not be had.
    """
    parent = os.getpid()
    reading, writing = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return b""
    if pid == 0:
        try:
            _end_with(parent)
            for line in (reading, *(line.fileno() for line in lines)):
                os.close(line)
            with os.fdopen(writing, "wb") as out:
                out.write(_done(job, count))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    outcome = _read_while_wanted(reading, lines[0].fileno())
    os.close(reading)
    return outcome if os.waitpid(pid, 0)[1] == 0 else b""


def _end_with(parent: int) -> None:
    """
    Have the kernel end this process with its *parent*, so that no job outlasts whoever waits for it.
    """
    ctypes.CDLL(None).prctl(_SIGNAL_AT_PARENTS_END, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _read_while_wanted(reading: int, asked: int) -> bytes:
    """
    Return all that comes out of a pipe. Raises ``OSError`` as soon as nobody can ask for anything any more.
    """
    ready = select.poll()
    ready.register(reading, select.POLLIN)
    ready.register(asked, select.POLLIN)
    pieces: list[bytes] = []
    while True:
        # Whoever asks is silent until the answer is there: what comes from them now is the end.
        if any(line == asked for line, _ in ready.poll()):
            raise ConnectionResetError("nobody waits for this")
        piece = os.read(reading, _PIECE)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def _done(job: bytes, count: Count) -> bytes:
    try:
        return pickle.dumps((False, pickle.loads(job)(count)))  # noqa: S301 - from the process that began this one
    except Exception as fault:  # noqa: BLE001 - told to whoever asked
        return pickle.dumps((True, fault))
