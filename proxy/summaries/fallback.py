"""
A summariser with another behind it, and a rest after failures.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from proxy.errors import SummaryError
from proxy.summaries.base import Summarizer, Summary, SummaryJob

COOLING_DOWN = "cooldown"
_TRANSIENT_SECONDS = 60.0
MOST_RESTS = 10_000
"""Rests that are remembered; models and credentials, and with them the keys, come from clients."""


@dataclass(slots=True)
class Cooldown:
    """
    Until when a summariser rests; one for each summariser and route, kept by whoever owns the route.
    """

    clock: Callable[[], float]
    seconds: float = 600.0
    transient_seconds: float = _TRANSIENT_SECONDS
    until: float = float("-inf")

    @property
    def active(self) -> bool:
        """
        Whether the summariser is to be left alone.
        """
        return self.clock() < self.until

    def start(self, *, transient: bool) -> None:
        """
        Begin a rest; a shorter one never ends a longer one early.
        """
        rest = min(self.transient_seconds, self.seconds) if transient else self.seconds
        self.until = max(self.until, self.clock() + rest)


class FallbackSummarizer(Summarizer):
    """
    Asks *primary*; when that fails, or rests after a failure, *fallback* answers and the summary is marked degraded.
    """

    def __init__(self, primary: Summarizer, fallback: Summarizer, cooldown: Cooldown) -> None:
        self._primary = primary
        self._fallback = fallback
        self._cooldown = cooldown
        self.name = primary.name

    async def summarize(self, job: SummaryJob) -> Summary:
        """
        Return the summary of *primary*, else of *fallback*. Raises ``SummaryError`` only where *fallback* does.
        """
        if self._cooldown.active:
            return await self._degraded(job, COOLING_DOWN)
        try:
            return await self._primary.summarize(job)
        except SummaryError as exc:
            self._cooldown.start(transient=exc.transient)
            return await self._degraded(job, exc.reason)

    async def _degraded(self, job: SummaryJob, reason: str) -> Summary:
        summary = await self._fallback.summarize(job)
        return replace(summary, degraded=True, failures=(*summary.failures, reason))


class Cooldowns:
    """
    The rests in force, one for each key such as (summariser, route): a failure on one never silences another.
    """

    def __init__(self, clock: Callable[[], float], *, seconds: float = 600.0) -> None:
        self._clock = clock
        self._seconds = seconds
        self._by_key: OrderedDict[tuple[str, ...], Cooldown] = OrderedDict()

    def of(self, *key: str) -> Cooldown:
        """
        Return the rest of *key*, made on first use; the one unasked for longest is forgotten where there are too many.
        """
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key[key] = Cooldown(self._clock, self._seconds)
        self._by_key.move_to_end(key)
        if len(self._by_key) > MOST_RESTS:
            self._by_key.popitem(last=False)
        return found
