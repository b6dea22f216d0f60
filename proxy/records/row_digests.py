"""
Remember the digests of rows, so that a turn of a long conversation costs what is new in it.
"""

from __future__ import annotations

from collections.abc import Callable

MOST_ROWS = 16_384
"""In each of two generations: some 200 bytes a row, and no text of it."""
_PLAIN = frozenset({"role", "content", "tool_call_id"})
_LENGTH_BITS = 40


class RowDigests:
    """
    Digests of the plain rows seen lately; safe between threads.

    A row is known again by Python's own hash of all its text and by its length. That hash is keyed anew in every process
    and costs a quarter of a digest; two rows of one length share one by chance once in 10^19 pairs. What is kept, and
    told to other processes, are always the digests.
    """

    def __init__(self, digest: Callable[[object], bytes], *, most: int = MOST_ROWS) -> None:
        self._digest = digest
        self._most = most
        self._young: dict[int, bytes] = {}
        self._old: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def of(self, row: object) -> bytes:
        """
        Return the digest of *row*.
        """
        key = _key(row)
        if key is None:
            return self._digest(row)
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key) or self._digest(row)
            if len(self._young) >= self._most:
                self._old, self._young = self._young, {}
            self._young[key] = found
        return found


def _key(row: object) -> int | None:
    """
    Return a key for all that a plain row says, ``None`` where a row says more than role, text and the call it answers.
    """
    if not isinstance(row, dict) or not row.keys() <= _PLAIN:
        return None
    role, content, call = row.get("role"), row.get("content"), row.get("tool_call_id")
    if type(role) is not str or type(content) is not str or (call is not None and type(call) is not str):
        return None
    return hash((role, content, call)) << _LENGTH_BITS | len(content)
