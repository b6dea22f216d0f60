import re

import pytest
from prometheus_client import values

from proxy.telemetry.metrics import Metrics
from proxy.telemetry.shared_metrics import collect_metrics, forget_gauges, share_metrics


@pytest.fixture(autouse=True)
def own_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Give the library back to the tests that follow.
    """
    monkeypatch.setattr(values, "ValueClass", values.ValueClass)
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")


def worker(folder, number: int, *, inflight: int) -> Metrics:
    share_metrics(folder, number)
    metrics = Metrics()
    metrics.watch(metrics.inflight, lambda: inflight)
    return metrics


def value(text: bytes, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text.decode(), re.MULTILINE)
    assert found, text
    return float(found[1])


def test_sums_what_workers_counted(tmp_path) -> None:
    """
    Counters, histograms and gauges alike.
    """
    for number in range(2):
        metrics = worker(tmp_path, number, inflight=3)
        metrics.requests.labels("r", "passthrough").inc(10)
        metrics.summary_seconds.observe(0.3)
        metrics.publish()
    text = collect_metrics(tmp_path)

    assert value(text, 'concertina_requests_total{action="passthrough",route="r"}') == 20
    assert value(text, 'concertina_summary_seconds_bucket{le="0.5"}') == 2
    assert value(text, "concertina_inflight") == 6


def test_a_replacement_goes_on_counting(tmp_path) -> None:
    """
    A counter never goes back; what only a living worker has is dropped.
    """
    before = worker(tmp_path, 0, inflight=3)
    before.requests.labels("r", "passthrough").inc(10)
    before.publish()
    forget_gauges(tmp_path, 0)
    after = worker(tmp_path, 0, inflight=1)
    after.requests.labels("r", "passthrough").inc()
    after.publish()
    text = collect_metrics(tmp_path)

    assert value(text, 'concertina_requests_total{action="passthrough",route="r"}') == 11
    assert value(text, "concertina_inflight") == 1


def test_one_process_and_several_tell_the_same_series(tmp_path) -> None:
    """
    Whoever goes from one worker to more finds every series again, and none tells when it was made.
    """
    alone = Metrics()
    for metrics in (alone, worker(tmp_path, 0, inflight=0)):
        metrics.requests.labels("r", "passthrough").inc()
        metrics.summary_seconds.observe(0.3)
        metrics.publish()
    names = [
        {line.partition("{")[0].partition(" ")[0] for line in text.decode().splitlines() if line[0] != "#"}
        for text in (collect_metrics(alone.registry), collect_metrics(tmp_path))
    ]

    assert names[0] >= names[1] > {"concertina_requests_total", "concertina_summary_seconds_bucket"}
    assert not [name for name in names[0] if name.endswith("_created")]


def test_one_process_needs_no_folder() -> None:
    """
    Its registry has it all, and watched gauges are taken when they are asked for.
    """
    metrics = Metrics()
    metrics.watch(metrics.inflight, lambda: 4)

    assert value(collect_metrics(metrics.registry), "concertina_inflight") == 4
