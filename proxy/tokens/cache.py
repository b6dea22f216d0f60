"""
Remember counts by content, so that a turn costs only what is new in it.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

ENTRY_BYTES = 192  # a key of 16 bytes, a small integer and their share of the dictionary (measured)


class CountCache:
    """
    The last counts asked for, least recently used out first; safe between threads.
    """

    def __init__(self, *, max_bytes: int = 48 * 1024 * 1024) -> None:
        self._limit = max(1, max_bytes // ENTRY_BYTES)
        self._counts: OrderedDict[bytes, int] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def size_bytes(self) -> int:
        """
        About how much memory the entries take.
        """
        return len(self._counts) * ENTRY_BYTES

    def get(self, key: bytes) -> int | None:
        """
        Return the count kept under *key*.
        """
        with self._lock:
            count = self._counts.get(key)
            if count is not None:
                self._counts.move_to_end(key)
            return count

    def put(self, key: bytes, count: int) -> None:
        """
        Keep *count* under *key*.
        """
        with self._lock:
            self._counts[key] = count
            self._counts.move_to_end(key)
            if len(self._counts) > self._limit:
                self._counts.popitem(last=False)
