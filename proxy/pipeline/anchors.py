"""
The real sizes of requests that were answered, by the digest of their rows; the estimate of the next turn starts there.

Those near a threshold are told in the store: a process that knows none would allow for more error, take the same turn
for larger than it is, and compact anew what another one was about to resume.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from proxy.chat.json import dumps, loads
from proxy.pipeline.conversations import beginning
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.store import RecordStore
from proxy.tokens.calibration import Anchor

MOST_ANCHORS = 20_000
MOST_PLACES = 16
"""Upstreams and models that one conversation is anchored at; clients choose the names of models."""
KEPT_SECONDS = 86_400.0
_At = tuple[str, str]
"""Upstream and model, which count the same rows differently."""


class Anchors:
    """
    Remembers the newest anchors, and keeps the one of a conversation that matters for other processes.
    """

    def __init__(self, store: RecordStore, tasks: TaskKeeper) -> None:
        self._store = store
        self._tasks = tasks
        self._known: OrderedDict[str, dict[_At, Anchor]] = OrderedDict()

    def of(self, exchange: Exchange, model: str, digests: Sequence[str]) -> tuple[Anchor | None, int]:
        """
        Return the newest anchor of a conversation and the number of rows it covers.
        """
        known, at = self._known, (exchange.party.upstream, model)
        for index in range(len(digests) if known else 0, 0, -1):  # that of the last turn is nearly always there
            found = known.get(digests[index - 1])
            if found is not None and at in found:
                return found[at], index
        return None, 0

    async def found(self, exchange: Exchange, model: str, digests: Sequence[str]) -> tuple[Anchor | None, int]:
        """
        Return the newest anchor of a conversation, one that another process told where none is known here.
        """
        known = self.of(exchange, model, digests)
        if known[0] is not None or not digests:
            return known
        reading = self._store.get_fact(_fact(exchange, model, digests))
        told = _read(await guarded_async("read an anchor", reading, otherwise=None))
        if told is None:
            return None, 0
        digest, anchor = told
        if digest not in digests:
            return None, 0
        self._remember(exchange, model, digest, anchor)
        return anchor, digests.index(digest) + 1

    def remember(
        self, exchange: Exchange, model: str, digests: Sequence[str], anchor: Anchor, *, keep: bool = False
    ) -> None:
        """
        Remember the real size of a request that was answered; *keep* tells other processes as well.
        """
        self._remember(exchange, model, digests[-1], anchor)
        if keep:
            value = dumps([digests[-1], anchor.estimate, anchor.actual])
            telling = self._store.put_fact(_fact(exchange, model, digests), value, KEPT_SECONDS)
            self._tasks.start(guarded_async("keep an anchor", telling, otherwise=None), name="keep an anchor")

    def _remember(self, exchange: Exchange, model: str, digest: str, anchor: Anchor) -> None:
        places = self._known.setdefault(digest, {})
        if len(places) >= MOST_PLACES:
            places.clear()
        places[exchange.party.upstream, model] = anchor
        self._known.move_to_end(digest)
        if len(self._known) > MOST_ANCHORS:
            self._known.popitem(last=False)


def _fact(exchange: Exchange, model: str, digests: Sequence[str]) -> str:
    return f"anchor:{exchange.party.upstream}:{model}:{beginning(digests)}"


def _read(raw: bytes | None) -> tuple[str, Anchor] | None:
    if not raw:
        return None
    try:
        digest, estimate, actual = loads(raw)
        return str(digest), Anchor(int(estimate), int(actual))
    except (ValueError, TypeError):
        return None
