"""
Where a history first differs from one that the same client sent before.

A client that appends is told apart from one that edits, forks, or rewrites its old turns; the last kind is worth
finding, since it never resumes anything.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from proxy.records.identity import divergence
from proxy.records.record import DIGEST_BYTES

MOST_CLIENTS = 512
CHAINS = 8
"""Histories of one client that are remembered: it may hold several conversations at a time."""
LONGEST_TAIL = 8
"""Rows that a client may send anew at the end of each request; who changes more edits or forks."""
TURNS = 4
"""Turns by which it is judged whether the end of a history changes as a rule."""
_WORDS = DIGEST_BYTES // 8  # of which the first one is remembered

Chain = Sequence[int]


@dataclass(frozen=True, slots=True)
class _Seen:
    """
    A history as its *chain* of numbers, and how many rows at the end of each of the last turns were other ones later.
    """

    chain: Chain
    tails: tuple[int, ...] = ()


class Divergences:
    """
    Remembers the last histories of each client, as numbers; about 5 KB for a history of 600 rows.
    """

    def __init__(self) -> None:
        self._chains: OrderedDict[str, deque[_Seen]] = OrderedDict()

    def row(self, client: str, digests: Sequence[str], *, told: int = 0) -> int | None:
        """
        Return the first row in which *digests* differ from the most similar history of *client*, and remember them.

        ``None`` where there is no such row: the first history, the same one, one that goes on, or one cut short. Where
        no habit was seen here, *told* is that many rows at the end that change as others have seen.
        """
        chains = self._of(client)
        new = array("Q", bytes.fromhex("".join(digests)))[::_WORDS]
        # Of several that share as much, the newest knows most of the client's ways.
        nearest = max(reversed(chains), key=lambda seen: divergence(seen.chain, new), default=None)
        if nearest is None:
            chains.append(_Seen(new, _taught((), told)))
            return None
        shared = divergence(nearest.chain, new)
        goes_on = shared == min(len(nearest.chain), len(new))
        tails = _tails(nearest, shared, len(new))
        if goes_on or _habit(tails):
            # Its newer state takes the place of the older one; a fork is remembered beside it.
            chains.remove(nearest)
        chains.append(_Seen(new, _taught(tails, told)))
        return None if goes_on else shared

    def changing(self, client: str) -> int:
        """
        Return how many rows at the end of the history of *client* that came last will be other ones in its next turn.

        0 where most turns only append: one edit is no habit.
        """
        chains = self._chains.get(client)
        return _habit(chains[-1].tails) if chains else 0

    def wavers(self, client: str) -> bool:
        """
        Tell whether the end of that history has changed without being known to as a rule.
        """
        chains = self._chains.get(client)
        tails = chains[-1].tails if chains else ()
        return any(tails) and not _habit(tails)

    def _of(self, client: str) -> deque[_Seen]:
        chains = self._chains.setdefault(client, deque(maxlen=CHAINS))
        self._chains.move_to_end(client)
        if len(self._chains) > MOST_CLIENTS:
            self._chains.popitem(last=False)
        return chains


def _habit(tails: Sequence[int]) -> int:
    return max(tails) if sum(map(bool, tails)) > 1 else 0


def _taught(tails: tuple[int, ...], told: int) -> tuple[int, ...]:
    """
    Return tails that stand for a habit, which ends like any other where the turns that follow only append.
    """
    return (told, told) if told and not _habit(tails) else tails


def _tails(before: _Seen, shared: int, rows: int) -> tuple[int, ...]:
    """
    Return the tails of a history of *rows* rows that shares *shared* of them with *before*.
    """
    if shared == rows:
        return before.tails  # the same once more, or cut short: that tells nothing
    tail = len(before.chain) - shared
    if tail > LONGEST_TAIL or tail >= shared:
        return ()
    return (*before.tails, tail)[-TURNS:]
