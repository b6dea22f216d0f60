"""
Conversations that somebody at the admin port wants compacted at their next request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from proxy.records.record import Record

MOST_MARKS = 1_000
SECONDS = 86_400.0
"""How long a mark waits for its request."""


class Marks:
    """
    Marks by the key of a record or by the digest of a conversation's prefix; each is used once.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since: OrderedDict[str, float] = OrderedDict()

    def __bool__(self) -> bool:
        # While there is a mark every request is measured; one whose conversation went on elsewhere must not last for ever.
        while self._since and self._clock() - next(iter(self._since.values())) >= SECONDS:
            self._since.popitem(last=False)
        return bool(self._since)

    def put(self, key: str) -> None:
        """
        Mark a conversation.
        """
        self._since.pop(key, None)
        self._since[key] = self._clock()
        if len(self._since) > MOST_MARKS:
            self._since.popitem(last=False)

    def take(self, live: Record | None, digests: Sequence[str]) -> bool:
        """
        Tell whether a request is marked by its record in force or by one of its *digests*, and use the mark up.

        A record that was made after the mark is what was asked for, perhaps made by another process.
        """
        if not self._since:
            return False
        keys = [*([live.key] if live else []), *digests]
        marked = [since for key in keys if (since := self._since.pop(key, None)) is not None]
        fresh = [since for since in marked if self._clock() - since < SECONDS]
        return any(live is None or live.created <= since for since in fresh)
