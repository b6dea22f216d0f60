"""
Quick counters and histograms tell what the library's own tell.
"""

import math

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client import Counter as PlainCounter
from prometheus_client import Histogram as PlainHistogram

from proxy.telemetry.meters import Counter, Histogram

BUCKETS = (1, 2, 5)


def told(counter, histogram, values) -> list[str]:
    registry = CollectorRegistry()
    count = counter("c", "help", ("who", "what"), registry=registry)
    sizes = histogram("h", "help", ("who",), buckets=BUCKETS, registry=registry)
    bare = histogram("b", "help", buckets=BUCKETS, registry=registry)
    for value in values:
        count.labels("a", "b").inc()
        count.labels(who="a", what="c").inc(2)
        sizes.labels("x").observe(value)
        bare.observe(value)
    return generate_latest(registry).decode().splitlines()


def test_they_tell_the_same_as_the_librarys_own():
    """
    Labels by place and by name, values below, at and above every bucket's end, and no number at all come out alike.
    """
    values = (-1, 0, 0.5, 1, 1.5, 2, 3, 5, 6, 1e9, math.inf)
    for seen in (values, (math.nan,)):
        plain = [line for line in told(PlainCounter, PlainHistogram, seen) if "_created" not in line]
        assert told(Counter, Histogram, seen) == plain


def test_a_wrong_number_of_labels_is_refused():
    """
    A slip in our own code shows at once, as it does with the library's counters.
    """
    count = Counter("c", "help", ("who", "what"), registry=CollectorRegistry())
    with pytest.raises(ValueError, match="label"):
        count.labels("a")
