"""
Run the suite.

    python -m bench.speed [--quick] [--peers] [--only TEXT] [--skip-special]
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

from bench.speed import special, upstreams
from bench.speed.cells import Cell, Figures, cells, measure, summary
from bench.speed.facts import ROOT, commit, machine
from bench.speed.processes import Server
from bench.speed.report import write
from bench.speed.targets import Target, bare, concertina, peers

PEERS = Path(os.environ.get("CONCERTINA_BENCH_PEERS", Path(tempfile.gettempdir()) / "concertina-bench-peers"))


class Bench:
    """
    Runs scenarios; servers are started once for each kind of upstream.
    """

    def __init__(self, folder: Path, targets: list[Target], ups: dict[str, Server], *, quick: bool) -> None:
        self._folder = folder
        self._targets = targets
        self._ups = ups
        self._quick = quick
        self._servers: dict[tuple[str, str], Server] = {}
        self.left_out: dict[str, str] = {}

    def run(self, cell: Cell) -> dict:
        count = cell.quick if self._quick else cell.count
        rounds: dict[str, list[Figures]] = {}
        # The first round warms up: imports, connections, caches.
        for round_ in range(1 + min(cell.rounds, 2 if self._quick else cell.rounds)):
            for target in self._taking_part(cell):
                server = self._server(target, cell.upstream)
                if server is None:
                    continue
                share = max(1, int(count * target.share)) if round_ else max(1, count // 4)
                share = max(share, min(count, cell.connections))
                up = self._ups[cell.upstream].port
                told = measure(cell, target, server, up, round_=round_, count=share, folder=self._folder)
                if round_:
                    rounds.setdefault(target.name, []).append(told)
        return summary(rounds)

    def stop(self) -> None:
        for server in self._servers.values():
            server.stop()

    def _taking_part(self, cell: Cell) -> list[Target]:
        return [target for target in self._targets if target.only is None or cell.name in target.only]

    def _server(self, target: Target, upstream: str) -> Server | None:
        if target.name == "direct":
            return self._ups[upstream]
        key = (target.name, upstream)
        if key not in self._servers and target.name not in self.left_out:
            try:
                self._servers[key] = target.start(self._ups[upstream].port, self._folder)
            except RuntimeError as fault:
                self.left_out[target.name] = str(fault)
        return self._servers.get(key)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description="Measure what the proxy costs.")
    parser.add_argument("--quick", action="store_true", help="fewer requests, no leak test: about 90 s")
    parser.add_argument("--peers", action="store_true", help="install other proxies and measure them too")
    parser.add_argument("--only", default="", help="scenarios whose name holds this text")
    parser.add_argument("--skip-special", action="store_true", help="scenarios alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="concertina-bench-") as name:
        results = measure_all(Path(name), options)
    print(write(results, ROOT / "bench" / "results" / results["commit"]))


def measure_all(folder: Path, options: argparse.Namespace) -> dict:
    begun = time.perf_counter()
    kind, canned = upstreams.canned(folder / "nginx")
    ups = {"canned": canned, "stream": upstreams.stream(), "simulator": upstreams.simulator()}
    others, left_out = peers(PEERS) if options.peers else ([], {})
    two = concertina(workers=2, name="concertina, 2 workers", only=frozenset({"small chat"}))
    direct = Target("direct", lambda *_: canned)
    results = {"commit": commit(), "quick": options.quick, "machine": machine(), "upstream": kind, "scenarios": {}}
    bench = Bench(folder, [direct, bare(), concertina(), two, *others], ups, quick=options.quick)
    try:
        for cell in cells(quick=options.quick):
            if options.only in cell.name:
                print(f"{time.perf_counter() - begun:6.1f} s  {cell.name}", flush=True)
                results["scenarios"][cell.name] = bench.run(cell)
        bench.stop()
        if not options.skip_special:
            results |= _special(canned.port, folder, quick=options.quick)
    finally:
        bench.stop()
        for server in ups.values():
            server.stop()
    return {
        **results,
        "peers_left_out": {**left_out, **bench.left_out},
        "load_after": os.getloadavg(),
        "seconds": time.perf_counter() - begun,
    }


def _special(upstream: int, folder: Path, *, quick: bool) -> dict:
    return {
        "start": special.start_times(upstream, folder, times=3 if quick else 7),
        "growth": special.growth(upstream, folder, turns=3 if quick else 8),
        "interference": special.interference(upstream, folder),
        "leak": [] if quick else special.leak(upstream, folder, requests=200_000),
    }


if __name__ == "__main__":
    main()
