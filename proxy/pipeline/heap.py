"""
Memory that was needed for a moment goes back to the system: after tables are built, after a long job.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
_LARGE = 2 * 1024 * 1024
_MOST_FREE = 16 * 1024 * 1024


def keep_large_apart() -> None:
    """
    Have the C library take what is large from the system and give it back at once.

    Left alone, glibc learns from the first large body that goes to put the next ones among what is small, where they
    leave holes.
    """
    with suppress(OSError, AttributeError, TypeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, _LARGE)
        libc.mallopt(_TRIM_THRESHOLD, _MOST_FREE)


def give_back() -> None:
    """
    Have the C library return free pages; where it is not glibc nothing happens.
    """
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
