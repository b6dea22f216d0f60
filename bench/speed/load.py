"""
A raw load generator: keeps connections busy with given requests and tells how long each answer took.

    python -m bench.speed.load PORT CONNECTIONS COUNT FILE...    each FILE is a whole request; they are sent in turn

Of event streams it tells for each chunk how long that was on the way, since the upstream writes into it when it left.
It collects no garbage, so that it never pauses by itself: wrk, which is written in C, sees the same latencies.
"""

import asyncio
import gc
import itertools
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import orjson
import uvloop

from bench.speed.facts import ROOT

SENT = re.compile(rb'"content": ?" ?(\d{10,})"')
"""What an upstream writes into a chunk: the nanosecond of the machine's clock at which it left."""
TAIL = 400
"""Bytes kept of what came before, since a chunk may come in two parts."""


@dataclass(frozen=True)
class Load:
    """
    What the clients saw: seconds in all, how long answers (or chunks) took, and what the load itself cost.
    """

    seconds: float
    cpu: float
    units: int
    p50: float
    p99: float
    p999: float
    failures: int


def run(port: int, files: list[Path], *, connections: int, count: int) -> Load:
    """
    Send *count* requests over *connections* in a process of its own.
    """
    command = [sys.executable, "-m", "bench.speed.load", port, connections, count, *files]
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-500:])
    return Load(**orjson.loads(done.stdout))


class Client(asyncio.Protocol):
    """
    One connection; tells a waiter when the answer to its request has come whole.
    """

    def connection_made(self, transport):
        self.transport = transport
        self.waiter = None
        self.late: list[int] = []
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
        if self.length is None:
            self.stream(data)
            whole = self.tail.endswith(b"0\r\n\r\n")
        else:
            whole = self.have >= self.length
        if whole and self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(self.status)

    def stream(self, data):
        now = time.monotonic_ns()
        data, at = self.tail + data, 0
        for found in SENT.finditer(data):
            self.late.append(now - int(found[1]))
            at = found.end()
        self.tail = data[at:][-TAIL:]

    def connection_lost(self, _exc):
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(0)


async def _load(port, connections, count, requests) -> dict:
    loop = asyncio.get_running_loop()
    coming = itertools.cycle(requests)
    latencies, late, failures, left = [], [], 0, count

    async def one():
        nonlocal left, failures
        client = None
        while left > 0:
            left -= 1
            if client is None or client.transport.is_closing():
                _, client = await loop.create_connection(Client, "127.0.0.1", port)
            begun = time.perf_counter()
            status = await client.ask(next(coming))
            latencies.append(time.perf_counter() - begun)
            failures += status != 200
            late.extend(client.late)
            client.late.clear()

    begun, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one() for _ in range(connections)))
    told = {"seconds": time.perf_counter() - begun, "cpu": time.process_time() - cpu, "failures": failures}
    took = sorted(nanoseconds / 1e9 for nanoseconds in late) if late else sorted(latencies)
    return told | {"units": len(took), "p50": at(took, 0.5), "p99": at(took, 0.99), "p999": at(took, 0.999)}


def at(ordered: list[float], share: float) -> float:
    """
    Return the quantile of *ordered* values.
    """
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def main() -> None:
    port, connections, count = map(int, sys.argv[1:4])
    requests = [Path(name).read_bytes() for name in sys.argv[4:]]
    gc.disable()
    sys.stdout.buffer.write(orjson.dumps(uvloop.run(_load(port, connections, count, requests))))


if __name__ == "__main__":
    main()
