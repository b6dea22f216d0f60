"""
Other proxies, installed from a package index when they are asked for, each into a folder of its own.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench.speed.cells import STREAMS
from bench.speed.processes import Server, free_port, start
from bench.speed.targets import Target

PATIENCE = 900.0
UNGUARDED = "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"
"""Lets it run without a key of its own, as the others do."""
ONE_STREAM, FIFTY_STREAMS = STREAMS[:2]
PLAIN = frozenset({"small chat", "passthrough GET", "50 KB chat", ONE_STREAM})
SLOW = 0.2
"""The share of the requests that a proxy gets which takes many times as long."""


@dataclass(frozen=True)
class Peer:
    """
    A package at one version, so that figures can be had again, and how it is started.
    """

    name: str
    package: str
    version: str
    make: Callable[[Path], Target]
    extra: str = ""
    npm: bool = False


def peers(folder: Path, known: Iterable[Peer] | None = None) -> tuple[list[Target], dict[str, str]]:
    """
    Install peers into *folder*; return those that did, and why the others did not.
    """
    found, failed = [], {}
    for peer in known or PEERS:
        try:
            found.append(peer.make(_npm(peer, folder) if peer.npm else _pip(peer, folder)))
        except (OSError, subprocess.SubprocessError, RuntimeError) as fault:
            failed[peer.name] = why(fault)
    return found, failed


def why(fault: Exception) -> str:
    """
    Return the last line that says something about *fault*.
    """
    told = getattr(fault, "stderr", None) or str(fault)
    lines = [line for line in (told.decode() if isinstance(told, bytes) else told).splitlines() if line.strip()]
    return f"{type(fault).__name__}: {lines[-1].strip()[:200] if lines else ''}"


def _pip(peer: Peer, folder: Path) -> Path:
    place = folder / f"{peer.package}-{peer.version}"
    if not (place / "ready").exists():
        _run(sys.executable, "-m", "venv", place)
        wanted = f"{peer.package}{peer.extra}=={peer.version}"
        _run(place / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted)
        (place / "ready").touch()
    return place


def _npm(peer: Peer, folder: Path) -> Path:
    if shutil.which("npm") is None:
        raise RuntimeError("npm is not installed")
    place = folder / f"{peer.package.replace('/', '-').strip('@')}-{peer.version}"
    if not (place / "ready").exists():
        place.mkdir(parents=True, exist_ok=True)
        _run("npm", "install", "--silent", "--ignore-scripts", "--prefix", place, f"{peer.package}@{peer.version}")
        (place / "ready").touch()
    return place / "node_modules" / peer.package


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, capture_output=True, timeout=PATIENCE)


def _awecompress(place: Path) -> Target:
    def run(upstream: int, folder: Path) -> Server:
        port = free_port()
        up = f"http://127.0.0.1:{upstream}"
        config = folder / f"awe-{port}.json"
        command = [place / "bin" / "awecompress", "serve", "--port", port, "--upstream", up, "--config", config]
        return start(command, port, env={"HOME": str(folder)}, log=folder / "awecompress.log")

    return Target("awecompress", run, only=PLAIN | {"20 MB upload", FIFTY_STREAMS})


def _cliff(place: Path) -> Target:
    def run(upstream: int, folder: Path) -> Server:
        port = free_port()
        up = f"http://127.0.0.1:{upstream}"
        command = [place / "bin" / "cliff", "serve", "--port", port, "--openai-upstream", up]
        return start(command, port, env={"HOME": str(folder)}, log=folder / "cliff.log")

    return Target("cliffcompaction", run, only=PLAIN, share=SLOW)


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

    return Target("context-guardian", run, only=PLAIN, share=SLOW)


def _litellm(place: Path) -> Target:
    def run(upstream: int, folder: Path) -> Server:
        port = free_port()
        model = {"model": "openai/*", "api_base": f"http://127.0.0.1:{upstream}/v1", "api_key": "k"}
        config = folder / f"litellm-{port}.yaml"
        config.write_bytes(orjson.dumps({"model_list": [{"model_name": "*", "litellm_params": model}]}))
        command = [place / "bin" / "litellm", "--config", config, "--port", port, "--host", "127.0.0.1"]
        env = {"HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True", UNGUARDED: "true"}
        return start(command, port, env=env, log=folder / "litellm.log", ready="/health/liveliness")

    # Its own list of models answers GET /v1/models: nothing passes through.
    return Target("litellm", run, only=frozenset({"small chat", ONE_STREAM}), share=SLOW / 10)


def _portkey(place: Path) -> Target:
    def run(_: int, folder: Path) -> Server:
        port = free_port()
        command = ["node", place / "build" / "start-server.js", f"--port={port}", "--headless"]
        return start(command, port, log=folder / "portkey.log", ready="/")

    def headers(upstream: int) -> dict[str, str]:
        return {"x-portkey-provider": "openai", "x-portkey-custom-host": f"http://127.0.0.1:{upstream}/v1"}

    # Streams and other paths it answers with 500 under Node 20, whose headers of an answer are immutable.
    return Target("portkey gateway", run, headers=headers, only=frozenset({"small chat", "50 KB chat"}), share=SLOW)


PEERS = (
    Peer("awecompress", "awecompress", "0.2.0", _awecompress),
    Peer("cliffcompaction", "cliffcompaction", "0.1.0", _cliff),
    Peer("context-guardian", "context-guardian", "0.12.0", _guardian),
    Peer("litellm", "litellm", "1.108.7", _litellm, extra="[proxy]"),
    Peer("portkey gateway", "@portkey-ai/gateway", "1.15.2", _portkey, npm=True),
)
