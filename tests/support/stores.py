"""
Records by name, a clock that stands still until told, and every store behind one harness.
"""

import asyncio
import os
import shutil
import signal
import subprocess
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pytest

from proxy.errors import StoreError
from proxy.records.fallback import GuardedStore, Patience
from proxy.records.memory import MemoryStore
from proxy.records.record import Record
from proxy.records.sqlite import SqliteStore
from proxy.records.store import Caps, RecordStore, StoreState


@dataclass
class FakeClock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


# A loaded machine is no outage.
UNHURRIED = Patience(read_seconds=60, write_seconds=60, open_seconds=60)

_PLAIN = Record(key="", digest="", scope="s", covered=4, head_end=0, cut=4, summary="S")


def record(key: str, digest: str | None = None, **fields) -> Record:
    """
    Return a record of one key; its digest is ``d-KEY`` unless told otherwise.
    """
    return replace(_PLAIN, key=key, digest=digest or f"d-{key}", **fields)


@dataclass
class Harness:
    """
    One kind of store: *open* may be called again for a second worker on the same data.
    """

    kind: str
    place: str
    clock: FakeClock = field(default_factory=FakeClock)
    caps: Caps = field(default_factory=Caps)

    async def open(self) -> RecordStore:
        if self.kind == "memory":
            return MemoryStore(clock=self.clock, caps=self.caps)
        if self.kind == "sqlite":
            return await SqliteStore.open(Path(self.place), clock=self.clock, caps=self.caps)
        if self.kind == "redis":
            return await _redis_store(self)
        if self.kind == "sealed":
            _seal(STORE_KEY)  # skips before anything is open
            return sealed(await replace(self, kind="sqlite").open())
        return await guarded(lambda: replace(self, kind="sqlite").open(), self.clock, self.caps, UNHURRIED)

    def size_of(self, kept: Record) -> int:
        """
        Return the bytes that a record takes in this kind of store.
        """
        if self.kind == "sealed":
            kept = sealed(MemoryStore(clock=self.clock))._sealed(kept)
        return len(kept.to_bytes())

    async def pass_time(self, seconds: float) -> None:
        """
        Let time pass: on our clock, and for keys that Redis lets expire by its own.
        """
        self.clock.advance(seconds)
        if self.kind == "redis":
            await _age_keys(self.place, seconds)


async def guarded(opener, clock, caps=None, patience=None) -> GuardedStore:
    """
    Return a started guarded store over whatever *opener* opens.
    """
    memory = MemoryStore(clock=clock, caps=caps)
    store = GuardedStore(opener, memory, clock=clock, about=StoreState("fake", "nowhere"), patience=patience)
    await store.start()
    return store


@asynccontextmanager
async def opened(harness: Harness):
    """
    Open a store and close it whatever happens.
    """
    store = await harness.open()
    try:
        yield store
    finally:
        await store.close()


class RedisServer:
    """
    A real ``redis-server`` of our own, reachable by a socket file alone.
    """

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "r.sock"
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        binary = shutil.which("redis-server")
        if binary is None:
            pytest.skip("redis-server is not installed")
        options = ["--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder), "--save", ""]
        self._process = subprocess.Popen([binary, *options], stdout=subprocess.PIPE)
        for line in self._process.stdout:
            if b"ready to accept connections" in line.lower():
                return
        pytest.fail("redis-server did not start")

    def kill(self) -> None:
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process.stdout.close()
            self._process = None
            self.socket.unlink(missing_ok=True)


STORE_KEY = "a key of enough characters"


@cache
def _seal(key: str):
    encryption = pytest.importorskip("proxy.records.encryption", reason="the encryption extra is not installed")
    return encryption.Seal(key)


def sealed(store: RecordStore, key: str = STORE_KEY) -> RecordStore:
    """
    Return *store* with everything in it encrypted; skip where the extra is not installed.
    """
    encryption = pytest.importorskip("proxy.records.encryption", reason="the encryption extra is not installed")
    return encryption.SealedStore(store, _seal(key))


async def _redis_store(harness: Harness):
    module = pytest.importorskip("proxy.records.redis", reason="the redis extra is not installed")
    return await module.RedisStore.open(harness.place, clock=harness.clock, caps=harness.caps)


async def _age_keys(url: str, seconds: float) -> None:
    redis = pytest.importorskip("redis.asyncio", reason="the redis extra is not installed")
    async with redis.Redis.from_url(url) as client:
        for key in await client.keys("*"):
            left = await client.pttl(key)
            if left >= 0:
                await client.pexpire(key, max(0, left - int(seconds * 1_000)))


class FlakyStore(MemoryStore):
    """
    A store that fails on demand: *read_fault* and *write_fault* are causes, "hangs" never answers; *write_gate*
    holds writes back.
    """

    read_fault: str | None = None
    write_fault: str | None = None
    write_gate: asyncio.Event | None = None
    closed = False

    async def find(self, digests):
        await _fail(self.read_fault)
        return await super().find(digests)

    async def recent(self, limit):
        await _fail(self.read_fault)
        return await super().recent(limit)

    async def get_fact(self, name):
        await _fail(self.read_fault)
        return await super().get_fact(name)

    async def put(self, record):
        if self.write_gate is not None:
            await self.write_gate.wait()
        await _fail(self.write_fault)
        return await super().put(record)

    async def put_fact(self, name, value, ttl_seconds=None):
        await _fail(self.write_fault)
        await super().put_fact(name, value, ttl_seconds)

    async def lease(self, key, seconds):
        await _fail(self.write_fault)
        return await super().lease(key, seconds)

    async def delete(self, key):
        await _fail(self.write_fault)
        await super().delete(key)

    async def close(self):
        self.closed = True


async def _fail(cause: str | None) -> None:
    if cause == "hangs":
        await asyncio.Event().wait()
    if cause is not None:
        raise StoreError("flaky", cause)
