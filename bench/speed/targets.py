"""
What is measured: no proxy, the bare hop, this project.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from bench.speed.facts import ROOT
from bench.speed.processes import Server, free_port, start

OURS = "concertina"
TWO_WORKERS = "concertina, 2 workers"
WINDOWS = {"small": 128_000, "mid": 200_000, "million": 1_000_000, "huge": 4_000_000}
"""Context windows by the name of the model; the threshold is half of each."""
Start = Callable[[int, Path], Server]


@dataclass(frozen=True)
class Target:
    """
    A proxy that is started in front of an upstream's port; *only* names the scenarios that it takes part in, *share* how
    much of their requests it gets, where all would take too long.
    """

    name: str
    start: Start
    headers: Callable[[int], dict[str, str]] = field(default=lambda _: {})
    only: frozenset[str] | None = None
    share: float = 1.0

    def takes_part(self, scenario: str) -> bool:
        """
        Say whether this target is measured in *scenario*.
        """
        return self.only is None or scenario in self.only


def bare() -> Target:
    def run(upstream: int, _: Path) -> Server:
        port = free_port()
        return start([sys.executable, "-m", "bench.speed.bare", port, upstream], port, cwd=ROOT)

    return Target("bare", run)


def concertina(*, workers: int = 1, name: str = OURS, only: frozenset[str] | None = None) -> Target:
    def run(upstream: int, folder: Path) -> Server:
        return start_ours(upstream, folder, workers=workers)

    return Target(name, run, only=only)


def start_ours(upstream: int, folder: Path, *, workers: int = 1, ready: str = "/readyz") -> Server:
    """
    Start this project as a user would; only what would reach beyond the machine is switched off.
    """
    port = free_port()
    state = folder / f"ours-{port}"
    state.mkdir(parents=True)
    settings = {
        "listen": f"127.0.0.1:{port}",
        "workers": workers,
        "admin": {"listen": None},
        "store": {"url": f"sqlite:///{state}/state.db"},
        "upstreams": {"up": {"base_url": f"http://127.0.0.1:{upstream}/v1", "discover": False}},
        "models": {model: {"context_window": window} for model, window in WINDOWS.items()},
        "compaction": {"summarizer": {"kind": "extractive"}},
    }
    (state / "c.yaml").write_bytes(orjson.dumps(settings))
    command = [sys.executable, "-m", "proxy.cli", "serve", "--config", state / "c.yaml"]
    return start(command, port, env={"PYTHONPATH": str(ROOT)}, log=state / "log", ready=ready, any_status=False)
