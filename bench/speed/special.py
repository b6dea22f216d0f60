"""
What is measured of this project alone: its start, its memory, growth with length, interference, leaks.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.speed import bodies, load
from bench.speed.cells import HEADERS
from bench.speed.facts import ROOT
from bench.speed.processes import PATIENCE
from bench.speed.targets import start_ours

MEGATOKEN = 4_400_000
"""Bytes of a conversation of a million tokens, roughly."""
SIZES = (40_000, 130_000, 440_000, 1_300_000, MEGATOKEN)


def request(folder: Path, name: str, body: bytes) -> Path:
    lines = "".join(f"{key}: {value}\r\n" for key, value in HEADERS.items())
    file = folder / name
    file.write_bytes(
        f"POST /v1/chat/completions HTTP/1.1\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body
    )
    return file


def start_times(upstream: int, folder: Path, *, times: int) -> dict:
    """
    Seconds from the command to the first answer of /healthz.
    """
    told = {}
    for workers in (1, 2):
        took = []
        for _ in range(times):
            server = start_ours(upstream, folder, workers=workers, ready="/healthz")
            took.append(server.started_in)
            server.stop()
        told[f"workers {workers}"] = {"median": statistics.median(took), "low": min(took), "high": max(took)}
    return told


def growth(upstream: int, folder: Path, *, turns: int) -> list[dict]:
    """
    CPU of one more turn of a conversation, by its length; each length is a conversation of its own, attached late.
    """
    server = start_ours(upstream, folder)
    told = []
    for number, size in enumerate(SIZES):
        rows = bodies.conversation(size + turns * 4_000, seed=900 + number)
        step = 4  # rows of one turn
        files = [
            request(folder, f"turn-{turn}", bodies.chat(rows[: len(rows) - (turns - turn) * step], model="mid"))
            for turn in range(turns + 1)
        ]
        load.run(server.port, files[:1], connections=1, count=1)
        took = []
        for file in files[1:]:
            before = server.cpu()
            done = load.run(server.port, [file], connections=1, count=1)
            took.append((server.cpu() - before) * 1e3)
            if done.failures:
                raise RuntimeError(f"a turn of {size} bytes failed")
        told.append(
            {
                "bytes": size,
                "tokens": size * 1_000_000 // MEGATOKEN,
                "cpu_ms": statistics.median(took),
                "high": max(took),
            }
        )
    told.append({"memory_mb": server.memory()})
    server.stop()
    return told


def interference(upstream: int, folder: Path) -> dict:
    """
    Latency of small requests while a conversation of a million tokens is compacted, and without.
    """
    server = start_ours(upstream, folder)
    small = request(folder, "small", bodies.small())
    told = {}
    for name in ("warm-up", "alone", "beside"):
        seed = 700 if name == "warm-up" else 701
        big = request(folder, "big", bodies.chat(bodies.conversation(MEGATOKEN, seed=seed), model="mid"))
        prober = subprocess.Popen(
            [sys.executable, "-m", "bench.speed.probe", str(server.port), str(small)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        begun = time.perf_counter()
        if name == "alone":
            time.sleep(5)
        else:
            load.run(server.port, [big], connections=1, count=1)
        seconds = time.perf_counter() - begun
        latencies = sorted(map(float, prober.communicate(b"stop\n", timeout=PATIENCE)[0].split()))
        if name != "warm-up":
            told[name] = {
                "seconds": seconds,
                "requests": len(latencies),
                "p50_ms": latencies[len(latencies) // 2],
                "p99_ms": latencies[int(len(latencies) * 0.99)],
                "worst_ms": latencies[-1],
            }
    told["memory_mb"] = server.memory()
    server.stop()
    return told


def leak(upstream: int, folder: Path, *, requests: int) -> list[dict]:
    """
    Memory after each eighth of *requests*, half of them streams of other conversations than before.
    """
    server = start_ours(upstream, folder)
    files = [
        request(folder, f"leak-{n}", bodies.chat([{"role": "user", "content": bodies.text(200 + n, n)}], model="small"))
        for n in range(50)
    ]
    told = []
    for part in range(9):
        count = requests // 8 if part else 2_000
        done = load.run(server.port, files, connections=16, count=count)
        told.append({"requests": count * part, "memory_mb": server.memory(), "failures": done.failures})
    server.stop()
    return told
