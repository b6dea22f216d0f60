"""
What identity and look-ups cost. Run: python -m bench.bench_records [--records N] [--redis]
"""

import argparse
import asyncio
import hashlib
import statistics
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from proxy.records.identity import prefix_digests, seed
from proxy.records.memory import MemoryStore
from proxy.records.record import Record
from proxy.records.redis import RedisStore
from proxy.records.sqlite import SqliteStore
from proxy.records.store import Caps
from tests.support.stores import RedisServer

SUMMARY = "The parser was fixed; tests in test_parse.py pass. " * 60
PLAIN = Record(key="", digest="", scope="s", covered=4, head_end=0, cut=4, summary=SUMMARY)
CAPS = Caps(max_bytes=4 << 30)


def digest(number):
    return hashlib.blake2b(str(number).encode(), digest_size=16).hexdigest()


def history(rows=300, size=2_000, text="x"):
    made = []
    for number in range(rows // 3):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
        made += [
            {"role": "user", "content": (text * size)[:size]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": (text * size * 2)[: size * 2]},
        ]
    return made


def timed(work, rounds=50):
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        times.append((time.perf_counter() - begun) * 1_000)
    return times


async def timed_async(work, rounds=200):
    times = []
    for number in range(rounds):
        begun = time.perf_counter()
        await work(number)
        times.append((time.perf_counter() - begun) * 1_000)
    return times


def tell(what, times):
    ordered = sorted(times)
    tail = ordered[int(len(ordered) * 0.99) - 1]
    print(f"{what:58} best {ordered[0]:8.3f}  median {statistics.median(ordered):8.3f}  p99 {tail:8.3f} ms")


def identity():
    chain_seed = seed(b"secret", "tenant", "route", "credential")
    for name, text in (("ASCII", "word "), ("Latin and Greek", "wörd λόγος "), ("Chinese", "压缩历史记录")):
        rows = history(text=text)
        tell(f"digests of 300 rows, 600,000 characters, {name}", timed(partial(prefix_digests, rows, seed=chain_seed)))


async def fill(name, store, count):
    begun = time.perf_counter()
    for number in range(count):
        await store.put(replace(PLAIN, key=f"k{number}", digest=digest(number), created=float(number)))
    spent = time.perf_counter() - begun
    print(f"{name}: {count} records of {len(PLAIN.to_bytes())} bytes written, {spent / count * 1e6:.0f} us each")


async def look_up(store, count):
    def unknown(number, length):
        return [digest(f"u{number}-{n}") for n in range(length)]

    async def miss(number, length=60):
        await store.find(unknown(number, length))

    async def hit(number):
        await store.find([*unknown(number, 59), digest(number * 37 % count)])

    async def thousand(number):
        await store.find([digest(number * 1_000 + n) for n in range(1_000)])

    questions = {length: [unknown(n, length) for n in range(50)] for length in (60, 1_000)}
    tell("  making 60 such digests (part of the figures below)", timed(lambda: unknown(1, 60)))
    tell("  60 group boundaries, none known", await timed_async(miss))
    tell("  60 group boundaries, one known", await timed_async(hit))
    for length, asked in questions.items():
        tell(
            f"  {length} digests made beforehand, none known",
            await timed_async(lambda n, a=asked: store.find(a[n % 50])),
        )
    tell("  1,000 digests, all known", await timed_async(thousand, rounds=20))
    tell("  newest 50", await timed_async(lambda _: store.recent(50), rounds=50))
    tell("  lease and release", await timed_async(lambda n: _lease(store, n)))
    tell("  sweep with nothing to do", await timed_async(lambda _: store.sweep(0.0), rounds=10))


async def _lease(store, number):
    await store.release(await store.lease(str(number), 30))


async def stores(count, with_redis):
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        clock = lambda: 0.0  # noqa: E731
        await measure("memory", MemoryStore(clock=clock, caps=CAPS), count)
        await measure("sqlite", await SqliteStore.open(Path(folder) / "s.db", clock=clock, caps=CAPS), count)
        begun = time.perf_counter()
        await (await SqliteStore.open(Path(folder) / "s.db", clock=clock, caps=CAPS)).close()
        print(f"sqlite: opened with its check in {time.perf_counter() - begun:.2f} s")
        if with_redis:
            server = RedisServer(Path(folder))
            server.start()
            try:
                await measure("redis", await RedisStore.open(server.url, clock=clock, caps=CAPS), count)
            finally:
                server.kill()


async def measure(name, store, count):
    await fill(name, store, count)
    await look_up(store, count)
    await store.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--redis", action="store_true")
    options = parser.parse_args()
    identity()
    asyncio.run(stores(options.records, options.redis))
