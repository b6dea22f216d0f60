"""
How long small requests wait while a large one is counted: run ``python -m bench.bench_waiting [ROUNDS]``.

The real proxy, a raw instant upstream and the client run in processes of their own. A request of a million tokens that
was never seen before is sent; small ones go through the same process beside it, and beside nothing. Wall time: what
counts is by how much the slowest wait differs. On a machine with more to do than processors both swing by hundreds of
milliseconds: look at the load that is printed.
"""

import asyncio
import multiprocessing
import os
import random
import statistics
import sys
import time

import orjson
import uvloop

from bench.bench_edge import Instant
from bench.bench_tokens import LINES
from proxy.config.settings import AppSettings
from proxy.telemetry.logs import set_up_log
from proxy.wiring import build

TARGET_MS = 50
PAUSE = 0.002
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: proxy\r\nContent-Type: application/json\r\n"
SMALL = orjson.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]})
END = b'"prompt_tokens":9}}'


class Patient(Instant):
    """
    Answers once as many bytes as were announced are there.
    """

    def connection_made(self, transport):
        super().connection_made(transport)
        self.wanted = None

    def data_received(self, data):
        if self.wanted is None:
            head, _, body = data.partition(b"\r\n\r\n")
            length = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            self.wanted, data = int(length[0].split(b":")[1]) if length else 0, body
        self.wanted -= len(data)
        if self.wanted <= 0:
            self.wanted = None
            super().data_received(b"}")


def upstream(pipe):
    async def main():
        server = await asyncio.get_running_loop().create_server(Patient, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(main())


def proxy(pipe, port):
    async def main():
        settings = AppSettings.model_validate(
            {
                "upstreams": {"up": {"base_url": f"http://127.0.0.1:{port}/v1", "discover": False}},
                "models": {"*": {"context_window": 4_000_000}},
                "store": {"url": "memory://"},
                "log": {"level": "error"},
                "compaction": {
                    "threshold_tokens": 3_000_000,  # counted, since it is over half of that in bytes, and not folded
                    "prepare_at": None,
                },
            }
        )
        set_up_log(settings.log, terminal=False)
        built = await build(settings)
        _, _, own = await built.start("127.0.0.1", 0)
        while not built.core.vocabulary.ready:
            await asyncio.sleep(0.01)
        pipe.send(own)
        await asyncio.Event().wait()

    uvloop.run(main())


def start(target, *args):
    here, there = multiprocessing.Pipe()
    multiprocessing.Process(target=target, args=(there, *args)).start()
    there.close()  # else a child that fails would be waited for
    return here.recv()


def large(seed):
    chance = random.Random(seed)
    rows = [
        {"role": ("user", "assistant")[n % 2], "content": "\n".join(chance.choices(LINES, k=19)) + f"\n{seed}.{n}"}
        for n in range(2_000)
    ]
    return orjson.dumps({"model": "m", "messages": [*rows, {"role": "user", "content": "go on"}]})


async def ask(reader, writer, body):
    begun = time.perf_counter()
    writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    await reader.readuntil(END)
    return (time.perf_counter() - begun) * 1_000


async def waits(port, until):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found = []
    while not until.is_set():
        found.append(await ask(reader, writer, SMALL))
        await asyncio.sleep(PAUSE)
    writer.close()
    return sorted(found)


async def beside(port, body):
    """
    Return the waits of small requests beside one with *body*, or for as long beside none, and how long that took.
    """
    over = asyncio.Event()
    small = asyncio.ensure_future(waits(port, over))
    await asyncio.sleep(0.1)
    took = 1_000.0
    if body is None:
        await asyncio.sleep(1.0)
    else:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        took = await ask(reader, writer, body)
        writer.close()
    over.set()
    return await small, took


def tell(title, found, took):
    p50, p99 = found[len(found) // 2], found[int(len(found) * 0.99)]
    print(
        f"{title:20} {len(found):5} small in {took:6.0f} ms: p50 {p50:6.1f}  p99 {p99:6.1f}  slowest {found[-1]:6.1f} ms"
    )


async def rounds(port, count):
    excess = []
    for number in range(count):
        body = large(number)
        idle, took = await beside(port, None)
        tell("beside nothing", idle, took)
        busy, took = await beside(port, body)
        tell("beside 1M tokens", busy, took)
        excess.append(busy[-1] - idle[-1])
    print(f"slowest wait, excess of each round: {', '.join(f'{ms:.1f}' for ms in excess)} ms")
    print(f"median {statistics.median(excess):.1f} ms (target {TARGET_MS}); load {os.getloadavg()[0]:.1f}")


def main():
    count = next((int(word) for word in sys.argv[1:] if word.isdigit()), 3)
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    try:
        port = start(proxy, start(upstream))
        uvloop.run(rounds(port, count))
    finally:
        for child in multiprocessing.active_children():
            child.terminate()


if __name__ == "__main__":
    main()
