"""
Results of the speed suite as a run would keep them, made up for tests of its comparison, table and plot.
"""

from bench.speed.figures import Figures, summary
from bench.speed.targets import OURS, TWO_WORKERS

MACHINE = {"cpu": "C", "cores": 2, "python": "3.11.7", "load_before": [0.1, 0.2, 0.3]}


def figures(cpu_us, **fields):
    """Return one round of a target that took so many microseconds of CPU."""
    plain = {"load_us": 12.0, "upstream_us": 8.0, "per_second": 1e6 / cpu_us, "memory_mb": 100.0}
    latency = {"p50_ms": cpu_us / 100, "p99_ms": cpu_us / 50, "p999_ms": cpu_us / 20}
    return Figures(cpu_us=cpu_us, **(plain | latency | fields))


def cell(**targets):
    """Return a scenario from the microseconds of each round of each target; spaces in names are underscores."""
    rounds = {name.replace("_", " "): [figures(value) for value in values] for name, values in targets.items()}
    return summary(rounds, ours=OURS)


def results(scenarios, **fields):
    """Return the results of a run."""
    plain = {"commit": "new", "taken": "2026-02-02T00:00:00+00:00", "quick": False, "machine": MACHINE}
    rest = {"upstream": "nginx", "load_after": [0.1, 0.2, 0.3], "seconds": 1.0}
    return plain | rest | {"scenarios": scenarios} | fields


def two_workers(told, **fields):
    """Add rounds of two workers to a scenario."""
    rounds = {TWO_WORKERS: [figures(100.0, **fields)]}
    others = {name: [figures(100.0)] for name in ("direct", "bare", OURS)}
    return told | {TWO_WORKERS: summary(rounds | others, ours=OURS)[TWO_WORKERS]}
