"""
Where a history first differs from one that the same client sent before.

A client that appends is told apart from one that edits, forks, or rewrites its old turns; the last kind is worth
finding, since it never resumes anything.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from collections.abc import Sequence

from proxy.records.identity import divergence
from proxy.records.record import DIGEST_BYTES

MOST_CLIENTS = 512
CHAINS = 4
"""Conversations of one client that are remembered: it may hold several at a time."""
_WORDS = DIGEST_BYTES // 8  # of which the first one is remembered

Chain = Sequence[int]


class Divergences:
    """
    Remembers the last histories of each client, as numbers; about 20 KB for a client with long ones.
    """

    def __init__(self) -> None:
        self._chains: OrderedDict[str, deque[Chain]] = OrderedDict()

    def row(self, client: str, digests: Sequence[str]) -> int | None:
        """
        Return the first row in which *digests* differ from the most similar history of *client*, and remember them.

        ``None`` where there is no such row: the first history, the same one, one that goes on, or one cut short.
        """
        chains = self._of(client)
        new = array("Q", bytes.fromhex("".join(digests)))[::_WORDS]
        nearest = max(chains, key=lambda chain: divergence(chain, new), default=None)
        shared = 0 if nearest is None else divergence(nearest, new)
        goes_on = nearest is not None and shared == min(len(nearest), len(new))
        if nearest is not None and goes_on:
            # Its newer state takes the place of the older one; a fork is remembered beside it.
            chains.remove(nearest)
        chains.append(new)
        return None if nearest is None or goes_on else shared

    def _of(self, client: str) -> deque[Chain]:
        chains = self._chains.setdefault(client, deque(maxlen=CHAINS))
        self._chains.move_to_end(client)
        if len(self._chains) > MOST_CLIENTS:
            self._chains.popitem(last=False)
        return chains
