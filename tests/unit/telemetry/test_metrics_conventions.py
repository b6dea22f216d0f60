"""
Metrics with names of OpenTelemetry have its buckets, so that dashboards made for others read them.
"""

import pytest

from proxy.telemetry.metrics import Metrics

TIMES = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
FIRST = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0]
SIZES = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]


@pytest.mark.parametrize(
    ("name", "labels", "edges"),
    [
        ("token_usage", ("m", "input"), SIZES),
        ("operation_seconds", ("m", ""), TIMES),
        ("first_token_seconds", ("m",), FIRST),
    ],
)
def test_buckets_are_those_of_the_conventions(name: str, labels: tuple[str, ...], edges: list[float]) -> None:
    """
    Edge by edge.
    """
    metrics = Metrics()
    getattr(metrics, name).labels(*labels).observe(1)
    samples = next(
        family.samples
        for family in metrics.registry.collect()
        if family.name.startswith("gen_ai") and len(family.samples)
    )
    found = [float(one.labels["le"]) for one in samples if "le" in one.labels]

    assert found == [*edges, float("inf")]
