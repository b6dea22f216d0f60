"""
Run the suite.

    python -m bench.speed [--quick] [--peers] [--only TEXT] [--skip-special] [--strict] [--docs]
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import orjson

from bench.speed import beside, recognise, special, upstreams
from bench.speed.cells import cells
from bench.speed.compare import Worse, newest_earlier, worse
from bench.speed.facts import ROOT, commit, machine, now
from bench.speed.measure import Bench
from bench.speed.page import refreshed
from bench.speed.peers import peers, why
from bench.speed.plot import svg
from bench.speed.processes import Server
from bench.speed.report import table
from bench.speed.targets import TWO_WORKERS, Target, bare, concertina

RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "speed.md"
CACHE = ROOT / ".bench"
"""Peers, and what was measured in part: not kept."""
LEAK_REQUESTS = 200_000


def main() -> int:
    """
    Measure, keep, print; return 1 where something is worse and that was to be strict.
    """
    options = _options()
    with tempfile.TemporaryDirectory(prefix="concertina-bench-") as name:
        results = measure_all(Path(name), options)
    partial = options.only or options.skip_special
    folder = (CACHE / "part" if partial else RESULTS) / _name(results)
    found = keep(results, folder, earlier=RESULTS)
    if options.docs and not partial:
        PAGE.write_text(refreshed(PAGE.read_text(), results, folder=str(folder.relative_to(ROOT))))
    return verdict(found, strict=options.strict)


def verdict(found: list[Worse], *, strict: bool) -> int:
    """
    Return the exit code.
    """
    return 1 if found and strict else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description="Measure what the proxy costs.")
    parser.add_argument("--quick", action="store_true", help="fewer requests, no leak test: about 90 s")
    parser.add_argument("--peers", action="store_true", help="install other proxies and measure them too")
    parser.add_argument("--only", default="", help="scenarios whose name holds this text; kept in .bench alone")
    parser.add_argument("--skip-special", action="store_true", help="scenarios alone; kept in .bench alone")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where something is worse than before")
    parser.add_argument("--docs", action="store_true", help="put the figures into docs/speed.md")
    return parser.parse_args()


def _name(results: dict) -> str:
    return f"{results['commit']}{'-quick' if results['quick'] else ''}"


def keep(results: dict, folder: Path, *, earlier: Path) -> list[Worse]:
    """
    Compare with the newest results in *earlier*, write all files into *folder*, print the table; return what is worse.
    """
    before = newest_earlier(earlier, results)
    found = worse(results, before) if before else []
    against = before and f"{before['commit']} of {before.get('taken', 'an earlier day')}"
    results = {**results, "compared_with": against}
    told = table(results, found)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_bytes(orjson.dumps(results, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    (folder / "table.md").write_text(told)
    (folder / "plot.svg").write_text(svg(results))
    print(told)
    print(f"Kept in {folder}")
    return found


def measure_all(folder: Path, options: argparse.Namespace) -> dict:
    """
    Run every scenario and everything else.
    """
    begun = time.perf_counter()
    facts = {"commit": commit(), "taken": now(), "quick": options.quick, "machine": machine()}
    others, left_out = peers(CACHE / "peers") if options.peers else ([], {})
    told = Progress()
    upstream, canned = upstreams.canned(folder / "nginx")
    ups = {"canned": canned, "stream": upstreams.stream(), "simulator": upstreams.simulator()}
    bench = Bench(folder, _targets(canned, others), ups)
    try:
        scenarios = {
            cell.name: told(cell.name, partial(bench.run, cell))
            for cell in cells(quick=options.quick)
            if options.only in cell.name
        }
        bench.stop()
        extra = {} if options.only or options.skip_special else _special(canned.port, folder, told, quick=options.quick)
    finally:
        bench.stop()
        for server in ups.values():
            server.stop()
    rest = {"load_after": os.getloadavg(), "seconds": time.perf_counter() - begun}
    missing = {"peers_left_out": {**left_out, **bench.left_out}}
    return {**facts, "upstream": upstream, "scenarios": scenarios, **extra, **missing, **rest}


def _targets(canned: Server, others: list[Target]) -> list[Target]:
    two = concertina(workers=2, name=TWO_WORKERS, only=frozenset({"small chat"}))
    return [Target("direct", lambda *_: canned), bare(), concertina(), two, *others]


class Progress:
    """
    Tells on standard error when something begins.
    """

    def __init__(self) -> None:
        self._begun = time.perf_counter()

    def __call__(self, name: str, work: Callable):
        print(f"{time.perf_counter() - self._begun:6.1f} s  {name}", file=sys.stderr, flush=True)
        return work()


def _special(upstream: int, folder: Path, told: Progress, *, quick: bool) -> dict:
    def pick(full: int, short: int) -> int:
        return short if quick else full

    parts: dict[str, Callable] = {
        "start": lambda: special.start_times(upstream, folder, times=pick(7, 2)),
        "growth": lambda: special.growth(upstream, folder, turns=pick(8, 3), sizes=special.SIZES[:: pick(1, 2)]),
        "compaction": lambda: beside.compaction(upstream, folder, rounds=pick(3, 1)),
        "images": lambda: beside.images(upstream, folder, rounds=pick(5, 2)),
        "recognition": lambda: recognise.recognition(folder, times=pick(40, 10)),
    }
    if not quick:
        parts["leak"] = lambda: special.leak(upstream, folder, requests=LEAK_REQUESTS)
    found: dict = {}
    for name, work in parts.items():
        try:
            found[name] = told(name, work)
        except (OSError, RuntimeError, ValueError) as fault:
            # Minutes of other figures are not lost for it.
            found.setdefault("not_measured", {})[name] = why(fault)
    return found


if __name__ == "__main__":
    sys.exit(main())
