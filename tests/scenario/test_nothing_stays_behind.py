"""
Whoever started a process may be killed without a chance to tell it: nothing stays behind, and no port stays open.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import PATIENCE, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc")]
COMMAND = "import os, sys; print(os.getpid(), os.environ['OPENAI_BASE_URL'], flush=True); sys.stdin.read()"


def descendants(pid: int) -> set[int]:
    """
    Return the processes that *pid* started, and those that they did.
    """
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (found := stat(int(entry.name))):
            parents[int(entry.name)] = int(found[1])
    found, waiting = set[int](), [pid]
    while waiting:
        one = waiting.pop()
        new = {child for child, parent in parents.items() if parent == one}
        found |= new
        waiting += new
    return found


def stat(pid: int) -> list[str]:
    """
    Return the state of a process, its parent and more; nothing where there is none.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def alive(pid: int) -> bool:
    found = stat(pid)
    return bool(found) and found[0] != "Z"


async def all_gone(pids: set[int]) -> None:
    """
    Wait until none of *pids* runs.
    """
    async with asyncio.timeout(PATIENCE):
        while any(map(alive, pids)):
            await asyncio.sleep(0.02)


async def test_a_proxy_ends_when_what_runs_a_command_behind_it_is_killed() -> None:
    """
    The command is not ours to end; the proxy is, and its port closes.
    """
    verb = ("run", "--upstream", "http://127.0.0.1:9/v1", "--", sys.executable, "-c", COMMAND)
    with subprocess.Popen(
        (sys.executable, "-m", "proxy.cli", *verb),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        command, url = (await asyncio.to_thread(process.stdout.readline)).split()
        proxies = descendants(process.pid) - {int(command)}
        process.kill()
        await all_gone(proxies)

        assert proxies
        assert alive(int(command))
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", int(url.rpartition(b":")[2].partition(b"/")[0]))
