"""
The machine and the commit, so that figures can be compared later.
"""

import datetime as dt
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("aiohttp", "httptools", "uvloop", "orjson", "tiktoken")


def commit() -> str:
    """
    Return the commit, marked where the tree has changes outside of bench/results.
    """
    name = _git("rev-parse", "--short=12", "HEAD") or "unknown"
    changed = _git("status", "--porcelain", "--", "proxy", "bench", ":!bench/results")
    return f"{name}-changed" if changed else name


def now() -> str:
    """
    Return the time of day, by which later results are told from earlier ones.
    """
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


def machine() -> dict:
    """
    Return what figures depend on beside the program.
    """
    cpus = [line for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "cores": os.cpu_count(),
        "cpu": cpus[0].partition(":")[2].strip() if cpus else platform.processor(),
        "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "load_before": os.getloadavg(),
    }


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(("git", *arguments), cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
