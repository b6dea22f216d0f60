"""
Compare a run with the newest earlier one of the same kind on the same kind of machine, so that a regression is seen.

Only ratios to the bare hop of the same run are compared, and memory: absolute times tell more about the day.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench.speed.figures import Spread
from bench.speed.goals import NO_PEERS

MARGIN = 1.05
"""Medians this close are the same: few rounds see little of what chance does."""
COMPARED = {"ratio": "CPU beside bare", "p99_ratio": "added p99 beside bare's", "memory_mb": "MB"}
NOISY = {"p99_ratio": 1.5, "memory_mb": 1.1}
"""Margins of their own: tails swing, and memory hardly moves between rounds while a library more is no leak."""
OURS = NO_PEERS - {"direct", "bare"}


@dataclass(frozen=True)
class Worse:
    """
    A figure of one target that is worse than before by more than rounds differ.
    """

    scenario: str
    target: str
    figure: str
    before: Spread
    now: Spread

    def __str__(self) -> str:
        told = ", ".join(
            f"{word} {one['median']:.2f} ({one['low']:.2f} to {one['high']:.2f})"
            for word, one in (("was", self.before), ("is", self.now))
        )
        return f"{self.scenario}, {self.target}: {COMPARED[self.figure]} {told}"


def kind(results: dict) -> tuple:
    """
    Return what two runs must share to be compared.
    """
    facts = results["machine"]
    return facts["cpu"], facts["cores"], facts["python"].rpartition(".")[0], results["upstream"], results["quick"]


def newest_earlier(folder: Path, results: dict) -> dict | None:
    """
    Return the newest results in *folder* that can be compared, of another commit and from before.
    """
    found = (orjson.loads(file.read_bytes()) for file in folder.glob("*/results.json"))
    earlier = [one for one in found if one["commit"] != results["commit"] and kind(one) == kind(results)]
    taken = [one for one in earlier if one.get("taken", "") < results["taken"]]
    return max(taken, key=lambda one: one.get("taken", ""), default=None)


def worse(results: dict, earlier: dict) -> list[Worse]:
    """
    Return every figure of ours that is worse than *earlier* beyond the spread of both.
    """
    return [
        Worse(scenario, target, figure, before, now)
        for scenario, target, figure, before, now in _pairs(results, earlier)
        if is_worse(before, now, margin=NOISY.get(figure, MARGIN))
    ]


def is_worse(before: Spread, now: Spread, *, margin: float = MARGIN) -> bool:
    """
    Say whether *now*'s best round is worse than *before*'s worst, and its median by more than the margin.
    """
    return now["low"] > before["high"] and now["median"] > before["median"] * margin


def _pairs(results: dict, earlier: dict) -> Iterator[tuple[str, str, str, Spread, Spread]]:
    for scenario, targets in results["scenarios"].items():
        for target in sorted(OURS & targets.keys()):
            before = earlier["scenarios"].get(scenario, {}).get(target, {})
            for figure in COMPARED:
                if before.get(figure) and targets[target].get(figure):
                    yield scenario, target, figure, before[figure], targets[target][figure]
