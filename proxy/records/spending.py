"""
Whether a client makes use of the summaries that are bought for it: the last few, and which of them were resumed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from proxy.chat.json import dumps, loads

JUDGED = 8
"""Compactions that a client is judged by."""
REMEMBERED = 64
"""Compactions that are remembered, of which the newest cannot be judged yet."""
LEAST_RESUMED = 0.25
"""A client of whose compactions fewer than this share is ever resumed rewrites its old turns."""


@dataclass(frozen=True, slots=True)
class Purchase:
    """
    One compaction: the *key* of its record, when it was bought, and whether it was ever resumed.
    """

    key: str
    at: float
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    """
    The last compactions of one client, oldest first.

    One is judged once it was resumed, or had time to be: of many conversations at once, the newest are all unresumed.
    """

    purchases: tuple[Purchase, ...] = ()

    def judged(self, *, until: float) -> tuple[Purchase, ...]:
        """
        Return the last ones of which it is known what became of them; unresumed ones count where bought *until* then.
        """
        return tuple(each for each in self.purchases if each.resumed or each.at <= until)[-JUDGED:]

    def wasteful(self, *, until: float) -> bool:
        """
        Tell whether buying more is a waste; nothing is said before enough can be judged.
        """
        judged = self.judged(until=until)
        return len(judged) >= JUDGED and sum(each.resumed for each in judged) < LEAST_RESUMED * JUDGED

    def with_bought(self, key: str, at: float) -> Self:
        """
        Return the ledger after one more purchase; the same record counts once.
        """
        if any(each.key == key for each in self.purchases):
            return self
        return replace(self, purchases=(*self.purchases, Purchase(key, at))[-REMEMBERED:])

    def with_resumed(self, keys: Iterable[str]) -> Self:
        """
        Return the ledger after records were resumed; those that are forgotten do not count.
        """
        resumed = set(keys)
        marked = (replace(each, resumed=True) if each.key in resumed else each for each in self.purchases)
        return replace(self, purchases=tuple(marked))

    def to_bytes(self) -> bytes:
        """
        Serialise for a store.
        """
        return dumps([[each.key, each.at, each.resumed] for each in self.purchases])

    @classmethod
    def from_bytes(cls, raw: bytes | None) -> Self:
        """
        Read what *to_bytes* wrote; anything else is an empty ledger.
        """
        try:
            rows = loads(raw) if raw is not None else []
            return cls(tuple(Purchase(str(key), float(at), bool(resumed)) for key, at, resumed in rows))
        except (ValueError, TypeError):
            return cls()
