"""
The store in memory: one process, gone when it ends.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from math import inf

from typing_extensions import override

from proxy.records.leases import Lease, new_lease
from proxy.records.record import Record
from proxy.records.store import Caps, Clock, RecordStore, StoreState, in_order

MAX_FACTS = 20_000


@dataclass(frozen=True, slots=True)
class _Kept:
    record: Record
    size: int
    used: float


@dataclass(frozen=True, slots=True)
class _Fact:
    value: bytes
    expires: float


class MemoryStore(RecordStore):
    """
    Least recently used first out, by bytes and by age. It never fails.
    """

    def __init__(self, *, clock: Clock, caps: Caps | None = None) -> None:
        self._clock = clock
        self._caps = caps or Caps()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._keys: dict[str, dict[str, None]] = {}
        self._facts: OrderedDict[str, _Fact] = OrderedDict()
        self._leases: dict[str, tuple[Lease, float]] = {}
        self._bytes = 0

    @override
    def describe(self) -> StoreState:
        return StoreState("memory", "this process", figures={"records": len(self._kept), "bytes": self._bytes})

    @override
    async def find(self, digests: Sequence[str]) -> dict[str, tuple[Record, ...]]:
        if not self._keys:
            return {}
        now = self._clock()
        found = {digest: self._of(digest, now) for digest in digests if digest in self._keys}
        return {digest: records for digest, records in found.items() if records}

    @override
    async def get(self, keys: Sequence[str]) -> dict[str, Record]:
        oldest_use = self._clock() - self._caps.ttl_seconds
        held = ((key, self._kept.get(key)) for key in keys)
        return {key: kept.record for key, kept in held if kept is not None and kept.used > oldest_use}

    @override
    async def put(self, record: Record) -> Record:
        now = self._clock()
        if (stored := self._live(record.key, now)) is not None:
            return stored
        self._drop(record.key)
        kept = _Kept(record, len(record.to_bytes()), now)
        self._kept[record.key] = kept
        self._keys.setdefault(record.digest, {})[record.key] = None
        self._bytes += kept.size
        self._trim(now)
        return record

    @override
    async def delete(self, key: str) -> None:
        self._drop(key)

    @override
    async def recent(self, limit: int) -> list[Record]:
        oldest_use = self._clock() - self._caps.ttl_seconds
        live = (kept.record for kept in self._kept.values() if kept.used > oldest_use)
        return nlargest(limit, live, key=lambda record: record.created)

    @override
    async def get_fact(self, name: str) -> bytes | None:
        fact = self._facts.get(name)
        return fact.value if fact is not None and fact.expires > self._clock() else None

    @override
    async def put_fact(self, name: str, value: bytes, ttl_seconds: float | None = None) -> None:
        expires = inf if ttl_seconds is None else self._clock() + ttl_seconds
        self._facts.pop(name, None)
        self._facts[name] = _Fact(value, expires)
        self._trim_facts()

    @override
    async def put_fact_once(self, name: str, value: bytes, ttl_seconds: float | None = None) -> bytes:
        known = await self.get_fact(name)
        if known is not None:
            return known
        await self.put_fact(name, value, ttl_seconds)
        return value

    @override
    async def lease(self, key: str, seconds: float) -> Lease | None:
        now = self._clock()
        _, expires = self._leases.get(key, (None, -inf))
        if expires > now:
            return None
        lease = new_lease(key)
        self._leases[key] = (lease, now + seconds)
        return lease

    @override
    async def renew(self, lease: Lease, seconds: float) -> bool:
        now = self._clock()
        held, expires = self._leases.get(lease.key, (None, -inf))
        if held != lease or expires <= now:
            return False
        self._leases[lease.key] = (lease, now + seconds)
        return True

    @override
    async def release(self, lease: Lease) -> None:
        held, _ = self._leases.get(lease.key, (None, 0.0))
        if held == lease:
            del self._leases[lease.key]

    @override
    async def sweep(self, now: float) -> int:
        before = len(self._kept)
        self._trim(now)
        for name in [name for name, fact in self._facts.items() if fact.expires <= now]:
            del self._facts[name]
        for key in [key for key, (_, expires) in self._leases.items() if expires <= now]:
            del self._leases[key]
        return before - len(self._kept)

    @override
    async def close(self) -> None:
        """
        Do nothing: nothing is open.
        """

    def _of(self, digest: str, now: float) -> tuple[Record, ...]:
        live = [self._live(key, now) for key in tuple(self._keys[digest])]
        return in_order(record for record in live if record is not None)

    def _live(self, key: str, now: float) -> Record | None:
        kept = self._kept.get(key)
        if kept is None or kept.used <= now - self._caps.ttl_seconds:
            return None
        self._kept[key] = replace(kept, used=now)
        self._kept.move_to_end(key)
        return kept.record

    def _drop(self, key: str) -> None:
        kept = self._kept.pop(key, None)
        if kept is None:
            return
        self._bytes -= kept.size
        keys = self._keys[kept.record.digest]
        del keys[key]
        if not keys:
            del self._keys[kept.record.digest]

    def _trim(self, now: float) -> None:
        # The order of the dict is the order of use, so what must go stands at its front.
        oldest_use = now - self._caps.ttl_seconds
        while self._kept:
            key, kept = next(iter(self._kept.items()))
            if kept.used > oldest_use and self._bytes <= self._caps.max_bytes:
                return
            self._drop(key)

    def _trim_facts(self) -> None:
        # Facts that expire make room first; the secret and other lasting ones stay.
        if len(self._facts) <= MAX_FACTS:
            return
        passing = next((name for name, fact in self._facts.items() if fact.expires < inf), next(iter(self._facts)))
        del self._facts[passing]
