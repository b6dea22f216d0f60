"""
A process beside this one that shares its token tables: long work is done there, so that no stream waits for it.

It is forked while there are neither threads nor an event loop, whose locks a fork would inherit, and stays that simple.
For each job it forks once more: what a job needs of memory goes with it, and one that is killed takes nothing along.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TypeVar

T = TypeVar("T")
Count = Callable[[str], int]
Job = Callable[[Count], T]
"""What can be pickled, and is given how to count tokens."""
_LENGTH_BYTES = 8
_FIRST_FREE = 3  # after standard input, output and error
_DEAF_TO = ("SIGINT", "SIGTERM", "SIGHUP")
_PIECE = 1 << 20


class WorkshopError(Exception):
    """
    The process that did a job is gone, and the job with it.
    """


class Workshop:
    """
    Does one job at a time; ``do`` blocks, so call it in a thread.
    """

    def __init__(self, pid: int, line: socket.socket) -> None:
        self._pid = pid
        self._line = line
        self._busy = threading.Lock()

    @classmethod
    def open(cls, count: Count) -> Workshop | None:
        """
        Fork it; ``None`` where a fork is not safe. *count* counts the tokens of a text, there as here.
        """
        if not sys.platform.startswith("linux") or threading.active_count() > 1:
            return None
        here, there = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            _work(there, count)
        there.close()
        return cls(pid, here)

    def do(self, job: Job[T]) -> T:
        """
        Return what *job* returns, or raise what it raises; ``WorkshopError`` where that cannot be known.
        """
        asked = pickle.dumps(job)
        with self._busy:
            try:
                _send(self._line, asked)
                answer = _receive(self._line)
            except OSError as fault:
                raise WorkshopError(str(fault)) from fault
        if not answer:
            raise WorkshopError("the process that did the job was killed")
        raised, value = pickle.loads(answer)  # noqa: S301 - from our own fork
        if raised:
            raise value
        return value  # type: ignore[no-any-return]

    def close(self) -> None:
        """
        Let it end; a job that runs is waited for by nobody.
        """
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
        with suppress(ChildProcessError):
            os.waitpid(self._pid, os.WNOHANG)


def _work(line: socket.socket, count: Count) -> NoReturn:
    """
    Do jobs until nobody can ask for any; never returns into what the process was before.
    """
    try:
        # The signals of a group are for the process that asks, which lets its exchanges end first.
        for name in _DEAF_TO:
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        _close_all_but(line.fileno())
        while True:
            _send(line, _done_apart(_receive(line), count))
    except BaseException:  # noqa: BLE001 - whatever it is, this is no place to tell it
        os._exit(0)


def _close_all_but(kept: int) -> None:
    """
    Close what was inherited: a port held here would stay open when the process that serves it is gone.
    """
    most = os.sysconf("SC_OPEN_MAX")
    os.closerange(_FIRST_FREE, kept)
    os.closerange(kept + 1, most)


def _done_apart(asked: bytes, count: Count) -> bytes:
    """
    Return the pickled outcome of a job done in a process of its own, nothing where that was killed.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as out:
                out.write(_done(asked, count))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        outcome = answer.read()
    return outcome if os.waitpid(pid, 0)[1] == 0 else b""


def _done(asked: bytes, count: Count) -> bytes:
    try:
        return pickle.dumps((False, pickle.loads(asked)(count)))  # noqa: S301 - from the process that forked this one
    except Exception as fault:  # noqa: BLE001 - told to whoever asked
        return pickle.dumps((True, fault))


def _send(line: socket.socket, message: bytes) -> None:
    line.sendall(len(message).to_bytes(_LENGTH_BYTES, "big"))
    line.sendall(message)


def _receive(line: socket.socket) -> bytes:
    """
    Return the next message. Raises ``OSError`` where there will be none.
    """
    return _exactly(line, int.from_bytes(_exactly(line, _LENGTH_BYTES), "big"))


def _exactly(line: socket.socket, size: int) -> bytes:
    pieces, left = [], size
    while left:
        piece = line.recv(min(left, _PIECE))
        if not piece:
            raise ConnectionResetError("the other side is gone")
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
