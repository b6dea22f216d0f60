"""
What the proxy is meant to cost, beside what was measured.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bench.speed.cells import COLD, IMAGES, MILLION, PACED, REUSED, STREAMS
from bench.speed.figures import Spread, attainable, spread
from bench.speed.targets import OURS, TWO_WORKERS

COLD_TOKENS = 150_000
"""Of a conversation of 600 KB."""
NO_PEERS = {"direct", "bare", OURS, TWO_WORKERS}


@dataclass(frozen=True)
class Goal:
    """
    A figure, found in the results by *find*, that should be at most *limit*; or at least, where *more* is better.
    """

    name: str
    find: Callable[[dict], Spread]
    limit: float
    aim: float | None = None
    unit: str = "x"
    more: bool = False


@dataclass(frozen=True)
class Verdict:
    """
    A goal and what was measured of it.
    """

    goal: Goal
    told: Spread

    @property
    def word(self) -> str:
        """
        Say whether the median reaches the goal.
        """
        if self._within(self.goal.limit):
            return "aim reached" if self.goal.aim is not None and self._within(self.goal.aim) else "reached"
        return "not reached"

    def _within(self, limit: float) -> bool:
        return self.told["median"] >= limit if self.goal.more else self.told["median"] <= limit


def verdicts(results: dict) -> list[Verdict]:
    """
    Return how each goal stands that was measured.
    """
    told = ((goal, _found(goal, results)) for goal in GOALS)
    return [Verdict(goal, found) for goal, found in told if found]


def best_peer(results: dict, scenario: str) -> tuple[str, Spread] | None:
    """
    Return the peer that is cheapest in *scenario*, and how many times our CPU it takes, round by round.
    """
    cell = results["scenarios"].get(scenario, {})
    found = [
        (name, told["times_ours"])
        for name, told in cell.items()
        if name not in NO_PEERS and told.get("times_ours") and not told["failures"]
    ]
    return min(found, key=lambda one: one[1]["median"], default=None)


def workers(results: dict) -> tuple[Spread, float] | None:
    """
    Return how many times the requests of one worker two answer, and how many the machine has room for.
    """
    two = results["scenarios"].get("small chat", {}).get(TWO_WORKERS)
    if not two or not two.get("rate_ours"):
        return None
    return two["rate_ours"], attainable(two, workers=2, cores=results["machine"]["cores"])


def shifted(told: Spread, factor: float) -> Spread:
    """
    Return *told* in another unit.
    """
    return {name: value * factor for name, value in told.items()}


def flatness(leak: list[dict]) -> Spread:
    """
    Return by how many percent memory stands above its first reading, at the end and at most.
    """
    first, *later = [one["memory_mb"] for one in leak]
    return spread((value / first - 1) * 100 for value in later) | {"median": (later[-1] / first - 1) * 100}


def _found(goal: Goal, results: dict) -> Spread:
    try:
        return goal.find(results)
    except (KeyError, TypeError):
        # Not part of this run.
        return {}


def _cell(scenario: str, figure: str, *, factor: float = 1.0) -> Callable[[dict], Spread]:
    return lambda results: shifted(results["scenarios"][scenario][OURS][figure], factor)


def _extra(group: str, name: str) -> Callable[[dict], Spread]:
    return lambda results: results[group][name]


def _peer(scenario: str) -> Callable[[dict], Spread]:
    return lambda results: (best_peer(results, scenario) or (None, {}))[1]


def _recognised(results: dict) -> Spread:
    one, two = results["recognition"]["hashing"], results["recognition"]["look-up"]
    return {name: one[name] + two[name] for name in one}


GOALS = (
    Goal("small chat, CPU beside the bare hop", _cell("small chat", "ratio"), 1.5, 1.25),
    Goal("passthrough GET, CPU beside the bare hop", _cell("passthrough GET", "ratio"), 1.5, 1.25),
    *(Goal(f"{name}, CPU a chunk beside the bare hop", _cell(name, "ratio"), 1.3) for name in STREAMS),
    Goal(f"{PACED}, 10 chunks a second, added p99 beside the bare hop's", _cell(PACED, "p99_ratio"), 3.0),
    Goal(f"{IMAGES}, time beside the bare hop", _cell(IMAGES, "time_ratio"), 1.5),
    Goal("20 MB upload, time beside the bare hop", _cell("20 MB upload", "time_ratio"), 1.5),
    Goal(
        "small requests beside 20 MB of images, worst above the bare hop's",
        _extra("images", "excess_worst_ms"),
        100,
        unit="ms",
    ),
    Goal(f"{REUSED}, CPU above the bare hop", _cell(REUSED, "above_bare_ms"), 8, unit="ms"),
    Goal("of which hashing and look-up", _recognised, 4, unit="ms"),
    Goal(
        "100K tokens compacted cold, no model", _cell(COLD, "cpu_us", factor=1e-6 * 100_000 / COLD_TOKENS), 1, unit="s"
    ),
    Goal(
        "small requests beside a compaction of 1M tokens, p99 above that without",
        _extra("compaction", "excess_p99_ms"),
        50,
        unit="ms",
    ),
    Goal("memory, token tables loaded and used", _cell(MILLION, "memory_mb"), 200, 150, unit="MB"),
    Goal("the same after long work", _cell(COLD, "memory_mb"), 200, 150, unit="MB"),
    Goal("memory after 200,000 requests, above the first reading", lambda told: flatness(told["leak"]), 5, unit="%"),
    Goal("start to /healthz, 1 worker", _extra("start", "workers 1"), 1.5, 1.0, unit="s"),
    Goal("start to /healthz, 2 workers", _extra("start", "workers 2"), 1.5, 1.0, unit="s"),
    Goal("small chat, CPU of the best peer beside ours", _peer("small chat"), 1.3, 1.5, more=True),
    Goal("passthrough GET, CPU of the best peer beside ours", _peer("passthrough GET"), 1.3, 1.5, more=True),
)
