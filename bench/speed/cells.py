"""
Scenarios, each measured for every target in turn, round after round.
"""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.speed import bodies, load
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


@dataclass(frozen=True)
class Cell:
    """
    One scenario: *bodies* makes the requests of a round, *count* of which go over *connections*.

    *warm* requests come first and are not counted; *per* divides the figures, for scenarios of many chunks.
    """

    name: str
    bodies: Callable[[int], list[bytes | None]]
    connections: int
    count: int
    quick: int
    target: str = "POST /v1/chat/completions"
    headers: tuple[tuple[str, str], ...] = ()
    upstream: str = "canned"
    warm: int = 0
    per: int = 1
    unit: str = "request"
    rounds: int = 5


def _same(make: Callable[[], bytes | None]) -> Callable[[int], list[bytes | None]]:
    made: list[bytes | None] = []

    def bodies_of(_: int) -> list[bytes | None]:
        if not made:
            made.append(make())
        return made

    return bodies_of


def _sized(size: int, model: str) -> bytes:
    return bodies.chat(bodies.conversation(size), model=model)


def _cold(round_: int) -> list[bytes | None]:
    return [bodies.chat(bodies.conversation(600_000, seed=1 + round_ * 10 + n), model="mid") for n in range(2)]


def _stream(streams: int, chunks: int, pause: float) -> Cell:
    return Cell(
        f"SSE, {streams} at once",
        _same(lambda: bodies.small(stream=True)),
        connections=streams,
        count=streams,
        quick=streams,
        headers=(("x-bench-stream", f"{chunks}/{pause}"),),
        upstream="stream",
        per=chunks,
        unit="chunk",
        rounds=3,
    )


def cells(*, quick: bool) -> list[Cell]:
    small = _same(bodies.small)
    streams = (
        [(1, 500, 1.0), (50, 100, 8.0), (500, 20, 60.0)]
        if quick
        else [(1, 1_000, 1.0), (50, 1_000, 6.0), (500, 200, 60.0)]
    )
    return [
        Cell("small chat", small, 16, 4_000, 1_600),
        Cell("passthrough GET", lambda _: [None], 16, 4_000, 1_600, target="GET /v1/models"),
        Cell("small chat, simulator", small, 4, 600, 200, upstream="simulator", rounds=3),
        Cell("50 KB chat", _same(lambda: _sized(50_000, "small")), 16, 1_500, 500),
        Cell(
            "1 MB chat, below the threshold", _same(lambda: _sized(1_000_000, "million")), 4, 120, 30, warm=4, rounds=3
        ),
        Cell("600 KB chat, record reused", _same(lambda: _sized(600_000, "mid")), 1, 60, 25, warm=3),
        Cell("600 KB chat, cold, extractive", _cold, 1, 2, 2, rounds=3),
        Cell("20 MB upload", _same(lambda: b"x" * 20_000_000), 1, 8, 3, target="POST /v1/files", rounds=3),
        *(_stream(*one) for one in streams),
    ]


@dataclass(frozen=True)
class Figures:
    """
    One round of one target.
    """

    cpu_us: float
    per_second: float
    p50_ms: float
    p99_ms: float
    p999_ms: float
    failures: int
    memory_mb: float


def measure(
    cell: Cell, target: Target, server: Server, upstream: int, *, round_: int, count: int, folder: Path
) -> Figures:
    """
    Send a round to *server* and say what it cost.
    """
    files = _files(cell, {**HEADERS, **dict(cell.headers), **target.headers(upstream)}, round_, folder)
    if cell.warm:
        load.run(server.port, files, connections=1, count=cell.warm)
    before = server.cpu()
    told = load.run(server.port, files, connections=cell.connections, count=count)
    took = server.cpu() - before
    units = count * cell.per
    return Figures(
        cpu_us=took / units * 1e6,
        per_second=units / told.seconds,
        p50_ms=told.percentile(0.5) * 1e3,
        p99_ms=told.percentile(0.99) * 1e3,
        p999_ms=told.percentile(0.999) * 1e3,
        failures=told.failures,
        memory_mb=server.memory(),
    )


def _files(cell: Cell, headers: dict[str, str], round_: int, folder: Path) -> list[Path]:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    files = []
    for number, body in enumerate(cell.bodies(round_)):
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        file = folder / f"request-{number}"
        file.write_bytes(f"{cell.target} HTTP/1.1\r\n{lines}{length}\r\n".encode() + (body or b""))
        files.append(file)
    return files


def summary(rounds: dict[str, list[Figures]]) -> dict[str, dict]:
    """
    Return for each target medians with their spread, the ratio of its CPU to the bare proxy's, and what it adds.
    """
    return {
        name: _one(figures, rounds.get("bare"), rounds.get("direct")) for name, figures in rounds.items() if figures
    }


def _one(figures: list[Figures], bare: list[Figures] | None, direct: list[Figures] | None) -> dict:
    told = {name: _spread([getattr(one, name) for one in figures]) for name in ("cpu_us", "per_second", "memory_mb")}
    if bare:
        pairs = list(zip(figures, bare, strict=False))
        told["ratio"] = _spread([one.cpu_us / other.cpu_us for one, other in pairs if other.cpu_us])
        told["above_bare_ms"] = _spread([(one.cpu_us - other.cpu_us) / 1e3 for one, other in pairs])
    if direct:
        for name in ("p50_ms", "p99_ms", "p999_ms"):
            told[f"added_{name}"] = _spread(
                [getattr(one, name) - getattr(other, name) for one, other in zip(figures, direct, strict=False)]
            )
    told["failures"] = sum(one.failures for one in figures)
    return told


def _spread(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


__all__ = ["OURS", "Cell", "Figures", "cells", "measure", "summary"]
