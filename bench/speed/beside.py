"""
How long small requests wait beside something large.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.speed import bodies, load
from bench.speed.facts import ROOT
from bench.speed.figures import Spread, spread
from bench.speed.load import at
from bench.speed.measure import request
from bench.speed.processes import PATIENCE, Server
from bench.speed.targets import bare, start_ours

MEGATOKEN = 4_400_000
"""Bytes of a conversation of a million tokens, roughly."""
IMAGE_BYTES = 20_000_000
IMAGES = 4
ALONE = 3.0
"""Seconds of small requests beside nothing."""


def compaction(upstream: int, folder: Path, *, rounds: int) -> dict[str, Spread]:
    """
    Return milliseconds of small requests while a conversation of a million tokens is compacted, and without.
    """
    server = start_ours(upstream, folder)
    small = request(folder, "small", bodies.small())
    # The first round warms up: the process for long work starts.
    told: dict[str, list[dict[str, float]]] = {"alone": [], "beside": []}
    for number in range(1 + rounds):
        size = MEGATOKEN if number else MEGATOKEN // 8
        big = request(folder, "big", bodies.chat(bodies.conversation(size, seed=700 + number), model="mid"))
        alone = _probed(server, small, partial(time.sleep, ALONE if number else 0.5))
        beside = _probed(server, small, partial(_sent, server, big, 1))
        if number:
            told["alone"].append(alone)
            told["beside"].append(beside)
    memory = {"memory_mb": spread([server.memory()]), "resident_mb": spread([server.resident()])}
    server.stop()
    return _summary(told["beside"], told["alone"], "alone") | memory


def images(upstream: int, folder: Path, *, rounds: int) -> dict[str, Spread]:
    """
    Return milliseconds of small requests while chats with 20 MB of images pass, through this project and a bare hop.
    """
    servers = {"bare": bare().start(upstream, folder), "ours": start_ours(upstream, folder)}
    small = request(folder, "small", bodies.small())
    big = request(folder, "big", bodies.images(IMAGE_BYTES))
    told: dict[str, list[dict[str, float]]] = {name: [] for name in servers}
    for number in range(1 + rounds):
        for name, server in servers.items():
            found = _probed(server, small, partial(_sent, server, big, IMAGES))
            told[name] += [found] if number else []
    for server in servers.values():
        server.stop()
    return _summary(told["ours"], told["bare"], "bare")


def _sent(server: Server, file: Path, count: int) -> None:
    done = load.run(server.port, [file], connections=1, count=count)
    if done.failures:
        raise RuntimeError(f"{file.name} failed")


def _probed(server: Server, small: Path, work: Callable[[], None]) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.speed.probe", str(server.port), str(small)]
    prober = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    begun = time.perf_counter()
    work()
    seconds = time.perf_counter() - begun
    took = sorted(map(float, prober.communicate(b"stop\n", timeout=PATIENCE)[0].split()))
    return {"seconds": seconds, "p50_ms": at(took, 0.5), "p99_ms": at(took, 0.99), "worst_ms": took[-1]}


def _summary(ours: list[dict[str, float]], other: list[dict[str, float]], name: str) -> dict[str, Spread]:
    told = {key: spread(one[key] for one in ours) for key in ours[0]}
    told |= {f"{name}_{key}": spread(one[key] for one in other) for key in other[0]}
    for key in ("p99_ms", "worst_ms"):
        told[f"excess_{key}"] = spread(one[key] - two[key] for one, two in zip(ours, other, strict=True))
    return told
