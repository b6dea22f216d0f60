"""
Counters read back as plain numbers.
"""

from __future__ import annotations

from prometheus_client.metrics import MetricWrapperBase

_TOTALS = ("_total", "")


def counts(metric: MetricWrapperBase, label: str = "") -> dict[str, float]:
    """
    Return a counter's or gauge's values, summed by one of its labels.
    """
    sums: dict[str, float] = {}
    for family in metric.collect():
        for sample in family.samples:
            if sample.name.removeprefix(family.name) in _TOTALS:
                key = sample.labels.get(label, "")
                sums[key] = sums.get(key, 0.0) + sample.value
    return sums


def timed(histogram: MetricWrapperBase) -> dict[str, float]:
    """
    Return how many things were timed (*made*), and how many seconds they took together.
    """
    samples = [sample for family in histogram.collect() for sample in family.samples]
    made = sum(sample.value for sample in samples if sample.name.endswith("_count"))
    return {"made": made, "seconds": sum(sample.value for sample in samples if sample.name.endswith("_sum"))}
