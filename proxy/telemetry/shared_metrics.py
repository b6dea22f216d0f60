"""
Metrics as text, of one process or of several workers together.

Workers keep their values in files of one folder, a set of files each, so that nothing is lost when one dies: the
worker that takes its place goes on counting where it ended.
"""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


def share_metrics(folder: Path, worker: int) -> None:
    """
    Keep all metrics that this process makes from now on in *folder*, as those of *worker* (0, 1, ...).
    """
    # The library takes the folder from the environment alone.
    os.environ[_FOLDER_VARIABLE] = str(folder)  # noqa: TID251 - it is written here, not read
    values.ValueClass = values.MultiProcessValue(lambda: worker)  # type: ignore[no-untyped-call]


def forget_gauges(folder: Path, worker: int) -> None:
    """
    Drop what only a running worker has, such as exchanges in flight, after *worker* died.
    """
    mark_process_dead(worker, str(folder))  # type: ignore[no-untyped-call]


def collect_metrics(source: CollectorRegistry | Path) -> bytes:
    """
    Return all metrics in Prometheus' text format: of a registry, or of the folder that several workers share.

    Sums over workers need their gauges published first (``Metrics.publish``); reading a folder takes milliseconds, so
    call it in a thread.
    """
    if isinstance(source, CollectorRegistry):
        return generate_latest(source)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(source))  # type: ignore[no-untyped-call]
    return generate_latest(registry)
