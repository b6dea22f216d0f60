"""
What one round of one target told, and what rounds in turn tell together. Nothing here measures.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

LEAST_MS = 0.05
"""What a hop adds at the least, for a quotient of two such figures: below it the clock and chance are all there is."""
KEPT = ("cpu_us", "load_us", "upstream_us", "per_second", "memory_mb", "p50_ms", "p99_ms", "p999_ms")

Spread = dict[str, float]
"""The median of rounds, the lowest and the highest."""


@dataclass(frozen=True)
class Figures:
    """
    One round of one target: CPU a unit of the proxy, the load and the upstream; what the clients saw.
    """

    cpu_us: float
    load_us: float
    upstream_us: float
    per_second: float
    p50_ms: float
    p99_ms: float
    p999_ms: float
    memory_mb: float
    failures: int = 0


def spread(values: Iterable[float]) -> Spread:
    """
    Return the median of *values* with the lowest and the highest; nothing where there are none.
    """
    values = list(values)
    if not values:
        return {}
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def summary(rounds: dict[str, list[Figures]], *, ours: str) -> dict[str, dict]:
    """
    Return for each target medians with their spread, and what it is beside the bare hop, no hop and ours, round by round.
    """
    return {name: _one(figures, rounds, ours=ours) for name, figures in rounds.items() if figures}


def _one(figures: list[Figures], rounds: dict[str, list[Figures]], *, ours: str) -> dict:
    told: dict = {name: spread(getattr(one, name) for one in figures) for name in KEPT}
    told["failures"] = sum(one.failures for one in figures)
    told["rounds"] = len(figures)
    if bare := rounds.get("bare"):
        pairs = list(zip(figures, bare, strict=False))
        told["ratio"] = spread(one.cpu_us / other.cpu_us for one, other in pairs if other.cpu_us)
        told["time_ratio"] = spread(one.p50_ms / other.p50_ms for one, other in pairs if other.p50_ms)
        told["above_bare_ms"] = spread((one.cpu_us - other.cpu_us) / 1e3 for one, other in pairs)
    if direct := rounds.get("direct"):
        for name in ("p50_ms", "p99_ms", "p999_ms"):
            told[f"added_{name}"] = spread(
                getattr(one, name) - getattr(other, name) for one, other in zip(figures, direct, strict=False)
            )
    if bare and direct:
        told["p99_ratio"] = spread(
            max(one.p99_ms - none.p99_ms, LEAST_MS) / max(other.p99_ms - none.p99_ms, LEAST_MS)
            for one, other, none in zip(figures, bare, direct, strict=False)
        )
    if mine := rounds.get(ours):
        told["times_ours"] = spread(
            one.cpu_us / other.cpu_us for one, other in zip(figures, mine, strict=False) if other.cpu_us
        )
        told["rate_ours"] = spread(
            one.per_second / other.per_second for one, other in zip(figures, mine, strict=False) if other.per_second
        )
    return told


def attainable(told: dict, *, workers: int, cores: int) -> float:
    """
    Return how many times the requests of one worker *workers* could answer on *cores* that load and upstream use, too.
    """
    own = told["cpu_us"]["median"]
    others = told["load_us"]["median"] + told["upstream_us"]["median"]
    return min(float(workers), cores * own / (own + others))
