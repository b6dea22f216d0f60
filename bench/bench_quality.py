"""
What survives compaction, by kind, method and budget: ``make bench-quality`` (``ARGS=--quick`` for a sample).

No model is asked. A surviving string is a necessary condition for a good summary, not a sufficient one: docs/quality.md.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import structlog

from bench.quality import methods, report
from bench.quality.generated import KINDS, conversation
from bench.quality.labelled import labelled
from bench.quality.measure import tally
from bench.quality.real import cases
from bench.quality.views import Count, holds, size
from bench.quality.wire import Job
from proxy.tokens.vocabulary import Vocabulary

BUDGETS = (0.10, 0.20, 0.35)
PROBE_CUTS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SETS = ("plain", "other", "identifiers", "probes", "chinese")
ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("CONCERTINA_SHARED") or ROOT.parent / "shared")
Judge = Callable[[str, int, report.Pairs], None]
"""Enters what of case number N a view still holds."""


class Bench:
    """
    Applies every method at every budget to one set of conversations after the other.
    """

    def __init__(self, litellm: str | None, wanted: Sequence[str] = ()) -> None:
        self.vocabulary = Vocabulary()
        self.vocabulary.load()
        self.count: Count = lru_cache(maxsize=None)(self.vocabulary.count)
        self.litellm = litellm
        self.wanted = wanted
        self.results: dict = {"budgets": BUDGETS, "methods": wanted or methods.names(litellm), "sets": {}}

    async def add(self, name: str, title: str, kinds: Sequence[str], rows: Sequence[Sequence], judge: Judge) -> None:
        kept = self.results["sets"].get(name, {}).get("kept", {}) if self.wanted else {}
        sizes = [sum(size(row, self.count) for row in one) for one in rows]
        for method in self.results["methods"]:
            for budget in BUDGETS:
                jobs = [Job(one, int(budget * tokens)) for one, tokens in zip(rows, sizes, strict=True)]
                pairs = {kind: [0, 0] for kind in kinds}
                seen = await methods.views(method, jobs, self.vocabulary, count=self.count, litellm=self.litellm)
                for number, view in enumerate(seen):
                    judge(view, number, pairs)
                kept.setdefault(method, {})[str(budget)] = pairs
                shown = " ".join(f"{kind}={report.percent(pair)}" for kind, pair in pairs.items())
                print(f"{name} {method} {budget:.0%}: {shown}", flush=True)
        title = f"{title}: {len(rows)} histories, {sum(sizes)} tokens"
        self.results["sets"][name] = {"title": title, "kinds": list(kinds), "kept": kept}

    async def generated(self, bank: str, number: int) -> None:
        made = [conversation(seed, bank=bank) for seed in range(number)]

        def judge(view: str, which: int, pairs: report.Pairs) -> None:
            tally(view, made[which].facts, pairs)

        await self.add(
            bank, f"Generated, phrasing bank {bank}", [*KINDS, "stale alone"], [one.rows for one in made], judge
        )

    async def recorded(self, name: str, title: str, folder: Path, cuts: Sequence[float]) -> None:
        source = "probes" if name == "probes" else "identifiers"
        found = list(cases(folder, self.count, source=source, cuts=cuts))

        def judge(view: str, which: int, pairs: report.Pairs) -> None:
            for needle, hard in found[which].needles:
                survives = holds(view, needle)
                for kind in ("all", *(["hard"] if hard else [])):
                    pairs[kind] = [pairs[kind][0] + survives, pairs[kind][1] + 1]

        needles = [hard for case in found for _, hard in case.needles]
        title = f"{title} ({len(needles)} values, {sum(needles)} hard: in neither head nor tail)"
        await self.add(name, title, ["all", "hard"], [case.rows for case in found], judge)

    async def chinese(self, folder: Path) -> None:
        found = list(labelled(folder, self.count))

        def judge(view: str, which: int, pairs: report.Pairs) -> None:
            for answer in found[which].answers:
                pairs["answers"] = [pairs["answers"][0] + holds(view, answer), pairs["answers"][1] + 1]

        await self.add(
            "chinese", "Recorded, Chinese, labelled answers", ["answers"], [one.rows for one in found], judge
        )


async def measure(bench: Bench, *, quick: bool, only: Sequence[str]) -> None:
    for bank in ("plain", "other"):
        if bank in only:
            await bench.generated(bank, 2 if quick else 12)
    folder = SHARED / "data" / "conversations"
    if not folder.is_dir():
        print("recorded conversations: skipped, there are none beside the repository")
        return
    cuts = (0.5,) if quick else (0.5, 0.75, 0.9)
    if "identifiers" in only:
        await bench.recorded("identifiers", "Recorded, identifiers that the assistant uses again", folder, cuts)
    if "probes" in only:
        probe_cuts = cuts if quick else PROBE_CUTS
        await bench.recorded("probes", "Recorded, probed values that a later call needs", folder, probe_cuts)
    if "chinese" in only:
        await bench.chinese(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS, help="measure these, keep the rest as it was")
    parser.add_argument("--methods", nargs="+", default=(), help="measure these, keep the others' figures; with --only")
    parser.add_argument("--litellm", metavar="PYTHON", help="a Python that has litellm")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "quality")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    bench = Bench(given.litellm, given.methods)
    if given.only != SETS:
        bench.results["sets"] |= report.read(given.results)
    asyncio.run(measure(bench, quick=given.quick, only=given.only))
    report.write(bench.results, given.results)


if __name__ == "__main__":
    main()
