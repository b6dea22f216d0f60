"""
A store that is only looked at, by the verbs that tell of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from proxy.records.memory import MemoryStore
from proxy.records.record import Record
from proxy.records.store import Clock, RecordStore, StoreState


class UnwrittenStore(MemoryStore):
    """
    What *behind* holds, to be read: what is written stays here and goes with it.
    """

    def __init__(self, behind: RecordStore, *, clock: Clock) -> None:
        super().__init__(clock=clock)
        self._behind = behind

    @override
    def describe(self) -> StoreState:
        return self._behind.describe()

    @override
    async def find(self, digests: Sequence[str]) -> dict[str, tuple[Record, ...]]:
        return {**await super().find(digests), **await self._behind.find(digests)}

    @override
    async def get(self, keys: Sequence[str]) -> dict[str, Record]:
        return {**await super().get(keys), **await self._behind.get(keys)}

    @override
    async def recent(self, limit: int) -> list[Record]:
        return await self._behind.recent(limit)

    @override
    async def put(self, record: Record) -> Record:
        stored = await self._behind.get([record.key])
        return stored.get(record.key) or await super().put(record)

    @override
    async def get_fact(self, name: str) -> bytes | None:
        here = await super().get_fact(name)
        return await self._behind.get_fact(name) if here is None else here

    @override
    async def put_fact_once(self, name: str, value: bytes, ttl_seconds: float | None = None) -> bytes:
        known = await self.get_fact(name)
        return await super().put_fact_once(name, value, ttl_seconds) if known is None else known

    @override
    async def close(self) -> None:
        await self._behind.close()
