"""
Measure scenarios, target after target, round after round.
"""

from pathlib import Path

from bench.speed import load
from bench.speed.cells import Cell
from bench.speed.figures import Figures, summary
from bench.speed.processes import Server
from bench.speed.targets import OURS, Target

HEADERS = {
    "Host": "127.0.0.1",
    "Accept": "application/json",
    "Accept-Encoding": "gzip, deflate",
    "Authorization": "Bearer sk-bench",
    "User-Agent": "bench/1",
    "X-Stainless-Lang": "python",
    "X-Stainless-Read-Timeout": "600",
    "Content-Type": "application/json",
}
LEAST_CHUNKS = 10
SHORT_SHARE = 0.2
"""Of a stream's chunks, where nothing is between: enough for its latency, all that is asked of it."""
WARM_SHARE = 0.25
"""Of a round's requests, in the first one."""


class Bench:
    """
    Runs scenarios; servers are started once for each kind of upstream.
    """

    def __init__(self, folder: Path, targets: list[Target], ups: dict[str, Server]) -> None:
        self._folder = folder
        self._targets = targets
        self._ups = ups
        self._servers: dict[tuple[str, str], Server] = {}
        self.left_out: dict[str, str] = {}

    def run(self, cell: Cell) -> dict:
        """
        Return what each target cost; the first round warms up: imports, connections, caches.
        """
        rounds: dict[str, list[Figures]] = {}
        for round_ in range(1 + cell.rounds):
            for target in self._targets:
                if target.takes_part(cell.name) and (server := self._server(target, cell.upstream)):
                    told = self._measure(cell, target, server, round_)
                    if round_:
                        rounds.setdefault(target.name, []).append(told)
        return summary(rounds, ours=OURS)

    def stop(self) -> None:
        """
        End all servers but the upstreams.
        """
        for server in self._servers.values():
            server.stop()

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

    def _measure(self, cell: Cell, target: Target, server: Server, round_: int) -> Figures:
        cell = _fitting(cell, target, round_)
        count = cell.count if cell.chunks else _count(cell, target, round_)
        up = self._ups[cell.upstream]
        files = _files(cell, {**HEADERS, **target.headers(up.port)}, round_, self._folder)
        if cell.warm:
            load.run(server.port, files, connections=1, count=cell.warm)
        before, up_before = server.cpu(), up.cpu()
        told = load.run(server.port, files, connections=cell.connections, count=count)
        units = cell.units(count)
        return Figures(
            cpu_us=(server.cpu() - before) / units * 1e6,
            load_us=told.cpu / units * 1e6,
            upstream_us=(up.cpu() - up_before) / units * 1e6,
            per_second=units / told.seconds,
            p50_ms=told.p50 * 1e3,
            p99_ms=told.p99 * 1e3,
            p999_ms=told.p999 * 1e3,
            memory_mb=server.memory(),
            failures=told.failures + (units - told.units if not told.failures else 0),
        )


def _fitting(cell: Cell, target: Target, round_: int) -> Cell:
    if not round_:
        return cell.shorter(LEAST_CHUNKS)
    return cell.shorter(max(LEAST_CHUNKS, int(cell.chunks * SHORT_SHARE))) if target.name == "direct" else cell


def _count(cell: Cell, target: Target, round_: int) -> int:
    share = cell.count * target.share * (1 if round_ else WARM_SHARE)
    return max(1, int(share), min(cell.count, cell.connections))


def _files(cell: Cell, headers: dict[str, str], round_: int, folder: Path) -> list[Path]:
    return [
        request(folder, f"request-{number}", body, target=cell.target, headers=headers)
        for number, body in enumerate(cell.bodies(round_))
    ]


def request(
    folder: Path, name: str, body: bytes | None, *, target: str = "POST /v1/chat/completions", headers=HEADERS
) -> Path:
    """
    Write a whole request to a file.
    """
    lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
    length = "" if body is None else f"Content-Length: {len(body)}\r\n"
    file = folder / name
    file.write_bytes(f"{target} HTTP/1.1\r\n{lines}{length}\r\n".encode() + (body or b""))
    return file
