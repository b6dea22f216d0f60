"""
Where the log goes: lines of one turn of the event loop leave in one write.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import RLock, get_ident
from typing import BinaryIO


class Lines:
    """
    Writes lines to *stream*, at once unless a loop gathers them; what cannot be written is lost, and nobody is held up.

    A write costs more than making the line. Those that wait are written by the next turn of the loop, and before
    anything that has to be told at once: what comes from another thread, and what is more than information.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._waiting: list[bytes] = []
        self._lock = RLock()
        if hasattr(os, "register_at_fork"):  # there is none on Windows
            os.register_at_fork(after_in_child=self._begin_anew)

    @contextmanager
    def gathered(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """
        Gather what is told in this thread while the block runs in *loop*.
        """
        self._loop, self._thread = loop, get_ident()
        try:
            yield
        finally:
            self._loop = None
            self._write()

    def info(self, line: bytes) -> None:
        """
        Take a line that may wait for the others of this turn.
        """
        loop = self._loop
        if loop is None or get_ident() != self._thread:
            self.msg(line)
            return
        if not self._waiting:
            loop.call_soon(self._write)
        self._waiting.append(line)

    def msg(self, line: bytes) -> None:
        """
        Write a line, behind those that wait.
        """
        self._write(line)

    debug = info
    warn = warning = error = err = exception = critical = fatal = failure = log = msg
    """The names by which structlog calls."""

    def _write(self, *last: bytes) -> None:
        with self._lock:
            lines, self._waiting = [*self._waiting, *last], []
            if lines:
                with suppress(OSError, ValueError):
                    self._stream.write(b"\n".join(lines) + b"\n")
                    self._stream.flush()

    def _begin_anew(self) -> None:
        """
        Leave to the parent of a fork what it has to write.
        """
        self._loop, self._waiting, self._lock = None, [], RLock()
