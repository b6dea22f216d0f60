"""
Servers in processes of their own, and what they cost.
"""

import http.client
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 180.0
TICKS = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass(frozen=True)
class Server:
    """
    A running server at *port*; its figures are those of its process and of all that descend from it.
    """

    process: subprocess.Popen
    port: int
    started_in: float = 0.0

    def cpu(self) -> float:
        """
        CPU seconds so far, to the nanosecond; those of children that have ended to a hundredth.
        """
        return sum(_cpu(pid) for pid in tree(self.process.pid))

    def memory(self) -> float:
        """
        Megabytes, shared pages split between those that share them.
        """
        return sum(_memory(pid) for pid in tree(self.process.pid)) / 1024

    def resident(self) -> float:
        """
        Return megabytes, shared pages counted once for each process that has them: what many tools show.
        """
        return sum(_memory(pid, "Rss:") for pid in tree(self.process.pid)) / 1024

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                for pid in tree(self.process.pid):
                    os.kill(pid, signal.SIGKILL)
                self.process.wait()


def start(
    command, port: int, *, env=None, cwd=None, log: Path | None = None, ready="/healthz", any_status=True
) -> Server:
    """
    Start *command* and wait until it answers on *port*; raises ``RuntimeError`` where it does not.
    """
    begun = time.perf_counter()
    with (log or Path(os.devnull)).open("ab") as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            env={**os.environ, **(env or {})},
            cwd=cwd,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
        )
    while time.perf_counter() - begun < PATIENCE:
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}; see {log}")
        status = answers(port, ready)
        if status == 200 or (status and any_status):
            return Server(process, port, time.perf_counter() - begun)
        time.sleep(0.005)
    process.kill()
    raise RuntimeError(f"{command[0]} does not answer; see {log}")


def answers(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        return response.status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def tree(pid: int) -> list[int]:
    """
    The process and its descendants.
    """
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += children.get(one, [])
    return found


def _cpu(pid: int) -> float:
    try:
        # The clock of another process: CPUCLOCK_SCHED of the whole thread group. It leaves out children that have ended.
        return time.clock_gettime((~pid << 3) | 2) + _ended(pid)
    except OSError:
        return 0.0


def _ended(pid: int) -> float:
    """
    Return CPU seconds of ended children that were waited for, and of theirs; to a hundredth, as the kernel tells it.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[13:15])) / TICKS


def _memory(pid: int, kind: str = "Pss:") -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(kind):
                return float(line.split()[1])
    except OSError:
        pass
    return 0.0
