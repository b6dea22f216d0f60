"""
What is measured: no proxy, the bare hop, this project, and peers that install from a registry when they are asked for.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from bench.speed.facts import ROOT
from bench.speed.processes import Server, free_port, start

OURS = "concertina"
WINDOWS = {"small": 128_000, "mid": 200_000, "million": 1_000_000, "huge": 4_000_000}
"""Context windows by the name of the model; the threshold is half of each."""
Start = Callable[[int, Path], Server]


@dataclass(frozen=True)
class Target:
    """
    A proxy that is started in front of an upstream's port; *only* names the scenarios that it takes part in.
    """

    name: str
    start: Start
    headers: Callable[[int], dict[str, str]] = field(default=lambda _: {})
    only: frozenset[str] | None = None
    share: float = 1.0


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


# --- peers

SMALL = frozenset({"small chat", "passthrough GET", "50 KB chat", "20 MB upload"})


def peers(folder: Path) -> tuple[list[Target], dict[str, str]]:
    """
    Install peers into *folder*, outside of the project; return those that did, and why the others did not.
    """
    found, failed = [], {}
    for name, (install, make) in _PEERS.items():
        try:
            found.append(make(install(folder)))
        except (OSError, subprocess.CalledProcessError, RuntimeError) as fault:
            failed[name] = f"{type(fault).__name__}: {str(fault)[-200:]}"
    return found, failed


def _pip(*packages: str) -> Callable[[Path], Path]:
    def install(folder: Path) -> Path:
        place = folder / packages[0].partition("[")[0]
        if not (place / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
            pip = [place / "bin" / "pip", "install", "--quiet", *packages]
            subprocess.run(pip, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
            (place / "ready").touch()
        return place

    return install


def _npm(package: str) -> Callable[[Path], Path]:
    def install(folder: Path) -> Path:
        place = folder / package.replace("/", "-").strip("@")
        if shutil.which("npm") is None:
            raise RuntimeError("npm is not installed")
        if not (place / "node_modules" / package).exists():
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(["npm", "install", "--silent", "--prefix", str(place), package], check=True, timeout=600)
        return place / "node_modules" / package

    return install


def _awecompress(place: Path) -> Target:
    def run(upstream: int, folder: Path) -> Server:
        port = free_port()
        up = f"http://127.0.0.1:{upstream}"
        command = [
            place / "bin" / "awecompress",
            "serve",
            "--port",
            port,
            "--upstream",
            up,
            "--config",
            folder / "awe.json",
        ]
        return start(command, port, env={"HOME": str(folder)}, log=folder / "awecompress.log")

    return Target("awecompress", run, only=SMALL)


def _cliff(place: Path) -> Target:
    def run(upstream: int, folder: Path) -> Server:
        port = free_port()
        command = [
            place / "bin" / "cliff",
            "serve",
            "--port",
            port,
            "--openai-upstream",
            f"http://127.0.0.1:{upstream}",
        ]
        return start(command, port, env={"HOME": str(folder)}, log=folder / "cliff.log")

    return Target("cliffcompaction", run, only=SMALL, share=0.2)


def _guardian(place: Path) -> Target:
    def run(upstream: int, folder: Path) -> Server:
        port = free_port()
        env = {
            "HOME": str(folder),
            "GUARDIAN_PORT": str(port),
            "GUARDIAN_UPSTREAM_URL": f"http://127.0.0.1:{upstream}/v1",
            "GUARDIAN_NUM_CTX": "128000",
            "GUARDIAN_NO_UPDATE_CHECK": "1",
        }
        return start([place / "bin" / "context-guardian"], port, env=env, log=folder / "guardian.log")

    return Target("context-guardian", run, only=SMALL, share=0.2)


def _litellm(place: Path) -> Target:
    def run(upstream: int, folder: Path) -> Server:
        port = free_port()
        model = {"model": "openai/*", "api_base": f"http://127.0.0.1:{upstream}/v1", "api_key": "k"}
        (folder / "litellm.yaml").write_bytes(
            orjson.dumps({"model_list": [{"model_name": "*", "litellm_params": model}]})
        )
        command = [
            place / "bin" / "litellm",
            "--config",
            folder / "litellm.yaml",
            "--port",
            port,
            "--host",
            "127.0.0.1",
        ]
        env = {"HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        return start(command, port, env=env, log=folder / "litellm.log", ready="/health/liveliness")

    return Target("litellm", run, only=frozenset({"small chat"}), share=0.05)


def _portkey(place: Path) -> Target:
    def run(_: int, folder: Path) -> Server:
        port = free_port()
        command = ["node", place / "build" / "start-server.js", f"--port={port}", "--headless"]
        return start(command, port, log=folder / "portkey.log", ready="/")

    def headers(upstream: int) -> dict[str, str]:
        return {"x-portkey-provider": "openai", "x-portkey-custom-host": f"http://127.0.0.1:{upstream}/v1"}

    return Target("portkey gateway", run, headers=headers, only=frozenset({"small chat", "50 KB chat"}), share=0.2)


_PEERS = {
    "awecompress": (_pip("awecompress"), _awecompress),
    "cliffcompaction": (_pip("cliffcompaction"), _cliff),
    "context-guardian": (_pip("context-guardian"), _guardian),
    "litellm": (_pip("litellm[proxy]"), _litellm),
    "portkey gateway": (_npm("@portkey-ai/gateway"), _portkey),
}
