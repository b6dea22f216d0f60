"""
How the models do that write summaries: calls, failures, and what came last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

MOST_WRITERS = 200


@dataclass(slots=True)
class Writer:
    """
    One model at one upstream, as one route asks it; times are seconds since 1970.
    """

    calls: int = 0
    failures: int = 0
    last_at: float = 0.0
    last_fault_at: float = 0.0
    last_fault: str = ""


class SummaryHealth:
    """
    Remembers the writers that were asked.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._writers: dict[tuple[str, str], Writer] = {}

    def answered(self, route: str, writer: str) -> None:
        """
        Note a call that was answered, whatever the answer was worth.
        """
        found = self._of(route, writer)
        found.calls += 1
        found.last_at = self._clock()

    def failed(self, route: str, writer: str, reason: str) -> None:
        """
        Note a call that was not.
        """
        found = self._of(route, writer)
        found.calls += 1
        found.failures += 1
        found.last_fault_at, found.last_fault = self._clock(), reason

    def told(self) -> dict[str, dict[str, dict[str, Any]]]:
        """
        Return plain values by route and writer.
        """
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for (route, writer), state in self._writers.items():
            found.setdefault(route, {})[writer] = asdict(state)
        return found

    def _of(self, route: str, writer: str) -> Writer:
        if len(self._writers) >= MOST_WRITERS and (route, writer) not in self._writers:
            self._writers.clear()  # names of models come from clients
        return self._writers.setdefault((route, writer), Writer())
