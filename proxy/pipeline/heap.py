"""
Memory that was needed for a moment goes back to the system: after tables are built, after a long job.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress


def give_back() -> None:
    """
    Have the C library return free pages; where it is not glibc nothing happens.
    """
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
