"""
The prompt cache: which leading rows were seen before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from proxy.chat.json import dumps


class PrefixCache:
    """
    Remembers every prefix of every conversation it was shown, as a provider's prompt cache would.
    """

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def match(self, chain: Sequence[bytes]) -> int:
        """
        Return how many leading rows were seen before, given the digest of each prefix.
        """
        return max((index + 1 for index, digest in enumerate(chain) if digest in self._seen), default=0)

    def remember(self, chain: Sequence[bytes]) -> None:
        """
        Remember the prefixes of a request that was processed.
        """
        self._seen.update(chain)


def digests(seed: object, rows: Sequence[Any]) -> tuple[bytes, ...]:
    """
    Return one digest a prefix of *rows*, of the JSON as it was sent.
    """
    running = hashlib.sha256(dumps(seed))
    found: list[bytes] = []
    for row in rows:
        encoded = dumps(row)
        running.update(len(encoded).to_bytes(8, "big") + encoded)
        found.append(running.digest())
    return tuple(found)


def prefix_breaks(conversations: Sequence[Sequence[Any]]) -> int:
    """
    Return how many requests are no extension of the one before them.
    """
    pairs = pairwise(conversations)
    return sum(list(after[: len(before)]) != list(before) for before, after in pairs)
