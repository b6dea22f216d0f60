"""
Counters and histograms for the path of every request: the library's own, with its two slow steps made quick.
"""

from __future__ import annotations

from bisect import bisect_left
from math import isnan
from typing import Any, Self, cast

import prometheus_client
from typing_extensions import override


class Counter(prometheus_client.Counter):
    """
    A counter that finds a child it has by the labels as given: no lock, no copy of them.
    """

    @override
    def labels(self, *values: Any, **named: Any) -> Self:
        found = self._metrics.get(values) if values else None
        return super().labels(*values, **named) if found is None else cast("Self", found)

    @override
    def inc(self, amount: float = 1, exemplar: dict[str, str] | None = None) -> None:
        if exemplar is not None or not amount >= 0:
            super().inc(amount, exemplar)
            return
        self._value.inc(amount)


class Histogram(prometheus_client.Histogram):
    """
    A histogram that finds children as the counter does, and the bucket by halving.
    """

    @override
    def labels(self, *values: Any, **named: Any) -> Self:
        found = self._metrics.get(values) if values else None
        return super().labels(*values, **named) if found is None else cast("Self", found)

    @override
    def observe(self, amount: float, exemplar: dict[str, str] | None = None) -> None:
        if exemplar is not None or isnan(amount):  # what is no number belongs to no bucket
            super().observe(amount, exemplar)
            return
        self._sum.inc(amount)
        self._buckets[bisect_left(self._upper_bounds, amount)].inc(1)
