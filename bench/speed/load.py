"""
A raw load generator: keeps connections busy with given requests and tells how long each answer took.

    python -m bench.speed.load PORT CONNECTIONS COUNT TOLD FILE...    each FILE is a whole request; they are sent in turn
"""

import asyncio
import itertools
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import orjson
import uvloop

from bench.speed.facts import ROOT


@dataclass(frozen=True)
class Load:
    """
    What the clients saw: seconds in all, seconds of each answer sorted, and how many answers were no success.
    """

    seconds: float
    latencies: list[float]
    failures: int

    def percentile(self, share: float) -> float:
        return self.latencies[min(len(self.latencies) - 1, int(len(self.latencies) * share))]


def run(port: int, files: list[Path], *, connections: int, count: int) -> Load:
    """
    Send *count* requests over *connections* in a process of its own.
    """
    # A file, since what many answers took is more than a pipe holds.
    told = files[0].with_name("load.json")
    command = [sys.executable, "-m", "bench.speed.load", port, connections, count, told, *files]
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-500:])
    return Load(**orjson.loads(told.read_bytes()))


class Client(asyncio.Protocol):
    """
    One connection; tells a waiter when the answer to its request has come whole.
    """

    def connection_made(self, transport):
        self.transport = transport
        self.waiter = None
        self.reset()

    def reset(self):
        self.head = b""
        self.status = 0
        self.length = None
        self.have = 0
        self.tail = b""

    def ask(self, request):
        self.reset()
        self.waiter = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.waiter

    def data_received(self, data):
        if not self.status:
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return
            head, data = self.head[:end].lower(), self.head[end + 4 :]
            self.status = int(head[9:12])
            stated = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
            self.length = int(stated) if stated else None
        self.have += len(data)
        self.tail = (self.tail + data)[-7:]
        whole = self.tail.endswith(b"0\r\n\r\n") if self.length is None else self.have >= self.length
        if whole and self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(self.status)

    def connection_lost(self, _exc):
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(0)


async def _load(port, connections, count, requests) -> dict:
    loop = asyncio.get_running_loop()
    coming = itertools.cycle(requests)
    latencies, failures, left = [], 0, count

    async def one():
        nonlocal left, failures
        client = None
        while left > 0:
            left -= 1
            if client is None or client.transport.is_closing():
                _, client = await loop.create_connection(Client, "127.0.0.1", port)
            begun = time.perf_counter()
            status = await client.ask(next(coming))
            latencies.append(round(time.perf_counter() - begun, 7))
            failures += status != 200

    begun = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(connections)))
    return {"seconds": time.perf_counter() - begun, "latencies": sorted(latencies), "failures": failures}


def main() -> None:
    port, connections, count = map(int, sys.argv[1:4])
    requests = [Path(name).read_bytes() for name in sys.argv[5:]]
    Path(sys.argv[4]).write_bytes(orjson.dumps(uvloop.run(_load(port, connections, count, requests))))


if __name__ == "__main__":
    main()
