"""
What is measured of this project alone: its start, growth with length, leaks.
"""

import statistics
from pathlib import Path

from bench.speed import bodies, load
from bench.speed.beside import MEGATOKEN
from bench.speed.figures import Spread, spread
from bench.speed.measure import request
from bench.speed.processes import Server
from bench.speed.targets import bare, start_ours

SIZES = (40_000, 130_000, 440_000, 1_300_000, MEGATOKEN)
TURN_BYTES = 4_000
TURN_ROWS = 4
LEAK_WARM = 5_000
LEAK_PARTS = 8
LEAK_BODIES = 50


def start_times(upstream: int, folder: Path, *, times: int) -> dict[str, Spread]:
    """
    Return seconds from the command to the first answer of /healthz.
    """
    told = {}
    for workers in (1, 2):
        took = []
        for _ in range(times):
            server = start_ours(upstream, folder, workers=workers, ready="/healthz")
            took.append(server.started_in)
            server.stop()
        told[f"workers {workers}"] = spread(took)
    return told


def growth(upstream: int, folder: Path, *, turns: int, sizes: tuple[int, ...] = SIZES) -> list[dict]:
    """
    Return the CPU of one more turn of a conversation, by its length; each length is one of its own, attached late.

    *bare_ms* is what the bare hop takes for the same requests.
    """
    server, hop = start_ours(upstream, folder), bare().start(upstream, folder)
    told = []
    for number, size in enumerate(sizes):
        rows = bodies.conversation(size + turns * TURN_BYTES, seed=900 + number)
        files = [
            request(folder, f"turn-{turn}", bodies.chat(rows[: len(rows) - (turns - turn) * TURN_ROWS], model="mid"))
            for turn in range(turns + 1)
        ]
        load.run(server.port, files[:1], connections=1, count=1)
        load.run(hop.port, files[:1], connections=1, count=1)
        took = [_cpu(server, file) for file in files[1:]]
        beside = [_cpu(hop, file) for file in files[1:]]
        tokens = size * 1_000_000 // MEGATOKEN
        ours = {"bytes": size, "tokens": tokens, "cpu_ms": statistics.median(took), "high": max(took)}
        told.append(ours | {"bare_ms": statistics.median(beside)})
    server.stop()
    hop.stop()
    return told


def _cpu(server: Server, file: Path) -> float:
    """
    Return the milliseconds that one request takes.
    """
    before = server.cpu()
    if load.run(server.port, [file], connections=1, count=1).failures:
        raise RuntimeError(f"{file.name} failed")
    return (server.cpu() - before) * 1e3


def leak(upstream: int, folder: Path, *, requests: int) -> list[dict]:
    """
    Return the memory after each eighth of *requests*, of fifty small conversations in turn.
    """
    server = start_ours(upstream, folder)
    chats = [[{"role": "user", "content": bodies.text(200 + n, n)}] for n in range(LEAK_BODIES)]
    files = [request(folder, f"leak-{n}", bodies.chat(rows, model="small")) for n, rows in enumerate(chats)]
    told = []
    for part in range(LEAK_PARTS + 1):
        count = requests // LEAK_PARTS if part else LEAK_WARM
        done = load.run(server.port, files, connections=16, count=count)
        told.append({"requests": count * part, "memory_mb": server.memory(), "failures": done.failures})
    server.stop()
    return told
