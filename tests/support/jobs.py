"""
Jobs for the process for long work, which has to find them by name.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

Count = Callable[[str], int]


def counted(text: str, count: Count) -> int:
    """
    Return the tokens of *text*.
    """
    return count(text)


def parent(_: Count) -> int:
    """
    Return the process that the one which does this was begun by.
    """
    return os.getppid()


def killed(_: Count) -> None:
    """
    Be ended as by a system that is short of memory.
    """
    os.kill(os.getpid(), signal.SIGKILL)


def endless(_: Count) -> None:
    """
    Take longer than any test does, busy all along as a job is.
    """
    until = time.monotonic() + 600
    while time.monotonic() < until:
        pass
