"""
Counters and histograms for the path of every request: the library's own, with its two slow steps made quick.

Neither tells when a series was made: several workers together cannot, and each would be a line more in every scrape.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from math import isnan
from typing import Any, Self

import prometheus_client
from prometheus_client.samples import Sample
from typing_extensions import override

_CREATED = "_created"


class Counter(prometheus_client.Counter):
    """
    A counter that finds a child it has by the labels as given: no lock, no copy of them.
    """

    @override
    def labels(self, *values: Any, **named: Any) -> Self:
        found: Any = self._metrics.get(values) if values else None
        child: Self = super().labels(*values, **named) if found is None else found
        return child

    @override
    def inc(self, amount: float = 1, exemplar: dict[str, str] | None = None) -> None:
        if exemplar is not None or not amount >= 0:
            super().inc(amount, exemplar)
            return
        self._value.inc(amount)

    @override
    def _child_samples(self) -> Iterable[Sample]:
        return _counted(super()._child_samples())


class Histogram(prometheus_client.Histogram):
    """
    A histogram that finds children as the counter does, and the bucket by halving.
    """

    @override
    def labels(self, *values: Any, **named: Any) -> Self:
        found: Any = self._metrics.get(values) if values else None
        child: Self = super().labels(*values, **named) if found is None else found
        return child

    @override
    def observe(self, amount: float, exemplar: dict[str, str] | None = None) -> None:
        if exemplar is not None or isnan(amount):  # what is no number belongs to no bucket
            super().observe(amount, exemplar)
            return
        self._sum.inc(amount)
        self._buckets[bisect_left(self._upper_bounds, amount)].inc(1)

    @override
    def _child_samples(self) -> Iterable[Sample]:
        return _counted(super()._child_samples())


def _counted(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    return tuple(sample for sample in samples if sample.name != _CREATED)
