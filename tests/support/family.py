"""
Processes and those that they started, as /proc tells of them.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.processes import PATIENCE


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
    """
    Say whether a process runs; one that ended and was not asked for its exit code does not.
    """
    found = stat(pid)
    return bool(found) and found[0] != "Z"


async def begun_by(pid: int, count: int) -> set[int]:
    """
    Wait until *count* processes descend from *pid*, and return them.
    """
    async with asyncio.timeout(PATIENCE):
        while len(found := descendants(pid)) < count:
            await asyncio.sleep(0.02)
    return found


async def all_gone(pids: set[int]) -> None:
    """
    Wait until none of *pids* runs.
    """
    async with asyncio.timeout(PATIENCE):
        while any(map(alive, pids)):
            await asyncio.sleep(0.02)


def ticks_of_ended_children(pid: int) -> int:
    """
    Return the CPU that ended children of a process took, in clock ticks.
    """
    return sum(map(int, stat(pid)[13:15]))
