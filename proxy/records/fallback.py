"""
Keep going when the store does not: a guarded store falls back on memory and comes back by itself.

A store that is down, slow, full, read-only or corrupted costs summaries, never a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from typing_extensions import override

from proxy.errors import StoreError
from proxy.records.breaker import SLOW, Breaker, within
from proxy.records.leases import Lease
from proxy.records.memory import MemoryStore
from proxy.records.record import Record
from proxy.records.store import Clock, RecordStore, StoreState, in_order

T = TypeVar("T")
Opener = Callable[[], Awaitable[RecordStore]]
DAMAGED = "corrupted"


@dataclass(frozen=True, slots=True)
class Patience:
    """
    Seconds that a request waits for the store; *open_seconds* counts where no request waits, *close_seconds* at the end.
    """

    read_seconds: float = 0.25
    write_seconds: float = 3.0
    open_seconds: float = 60.0
    close_seconds: float = 5.0


class GuardedStore(RecordStore):
    """
    The store that *opener* opens, with *memory* behind it.

    Reads and writes fail apart: a full or read-only store still answers. What was written to memory meanwhile stays
    there and is found together with what the store has. Under one key the record in memory wins, since its bytes have
    gone out already.
    """

    def __init__(
        self,
        opener: Opener,
        memory: MemoryStore,
        *,
        clock: Clock,
        about: StoreState,
        patience: Patience | None = None,
    ) -> None:
        self._opener = opener
        self._memory = memory
        self._clock = clock
        self._about = about
        self._patience = patience or Patience()
        self._primary: RecordStore | None = None
        self._recovering = asyncio.Lock()
        self._opening: asyncio.Task[RecordStore] | None = None
        self._reads = Breaker(clock)
        self._writes = Breaker(clock)

    @override
    def describe(self) -> StoreState:
        cause = self._reads.cause or self._writes.cause
        state = self._primary.describe() if self._primary is not None else self._about
        return replace(state, healthy=state.healthy and not cause, cause=cause or state.cause)

    async def start(self) -> None:
        """
        Open the store for the first time; where it cannot be opened, begin with memory alone.
        """
        await self._recover(self._patience.open_seconds)

    @override
    async def find(self, digests: Sequence[str]) -> dict[str, tuple[Record, ...]]:
        here = await self._memory.find(digests)
        for there in await self._read(lambda store: store.find(digests)):
            return {digest: _merged(here.get(digest, ()), there.get(digest, ())) for digest in {**there, **here}}
        return here

    @override
    async def get(self, keys: Sequence[str]) -> dict[str, Record]:
        here = await self._memory.get(keys)
        for there in await self._read(lambda store: store.get(keys)):
            return {**there, **here}
        return here

    @override
    async def put(self, record: Record) -> Record:
        for stored in await self._write(lambda store: store.put(record)):
            return stored
        return await self._memory.put(record)

    @override
    async def delete(self, key: str) -> None:
        await self._memory.delete(key)
        await self._write(lambda store: store.delete(key))

    @override
    async def recent(self, limit: int) -> list[Record]:
        here = await self._memory.recent(limit)
        for there in await self._read(lambda store: store.recent(limit)):
            both = _merged(tuple(here), tuple(there))
            return sorted(both, key=lambda record: record.created, reverse=True)[:limit]
        return here

    @override
    async def get_fact(self, name: str) -> bytes | None:
        for value in await self._read(lambda store: store.get_fact(name)):
            if value is not None:
                return value
        return await self._memory.get_fact(name)

    @override
    async def put_fact(self, name: str, value: bytes, ttl_seconds: float | None = None) -> None:
        if not await self._write(lambda store: store.put_fact(name, value, ttl_seconds)):
            await self._memory.put_fact(name, value, ttl_seconds)

    @override
    async def put_fact_once(self, name: str, value: bytes, ttl_seconds: float | None = None) -> bytes:
        for known in await self._write(lambda store: store.put_fact_once(name, value, ttl_seconds)):
            return known
        return await self._memory.put_fact_once(name, value, ttl_seconds)

    @override
    async def lease(self, key: str, seconds: float) -> Lease | None:
        for lease in await self._write(lambda store: store.lease(key, seconds)):
            return lease
        return await self._memory.lease(key, seconds)

    @override
    async def renew(self, lease: Lease, seconds: float) -> bool:
        for held in await self._write(lambda store: store.renew(lease, seconds)):
            if held:
                return True
        return await self._memory.renew(lease, seconds)

    @override
    async def release(self, lease: Lease) -> None:
        await self._memory.release(lease)
        await self._write(lambda store: store.release(lease))

    @override
    async def sweep(self, now: float) -> int:
        removed = await self._memory.sweep(now)
        if self._reads.cause and not self._reads.is_open:
            await self._recover(self._patience.open_seconds)
        swept = await self._attempt(self._writes, lambda store: store.sweep(now), self._patience.open_seconds)
        return removed + sum(swept)

    @override
    async def close(self) -> None:
        if (opening := self._opening) is not None:
            await asyncio.wait({opening}, timeout=self._patience.close_seconds)
            opening.cancel()
        if self._primary is not None:
            primary, self._primary = self._primary, None
            await primary.close()

    async def _read(self, ask: Callable[[RecordStore], Awaitable[T]]) -> tuple[T, ...]:
        return await self._attempt(self._reads, ask, self._patience.read_seconds)

    async def _write(self, ask: Callable[[RecordStore], Awaitable[T]]) -> tuple[T, ...]:
        return await self._attempt(self._writes, ask, self._patience.write_seconds)

    async def _attempt(
        self, breaker: Breaker, ask: Callable[[RecordStore], Awaitable[T]], seconds: float
    ) -> tuple[T, ...]:
        """
        Return the answer of the store as a tuple of one, or an empty one where memory must do.
        """
        if self._reads.cause and not self._reads.is_open:
            await self._recover(self._patience.read_seconds)
        primary = self._primary
        if primary is None or self._reads.cause or breaker.is_open:
            return ()
        try:
            answer = await within(seconds, ask(primary))
        except StoreError as exc:
            # A store that was closed under a running request says nothing of the one opened since.
            if primary is self._primary:
                self._trip(breaker, exc.cause)
            return ()
        breaker.reset()
        return (answer,)

    def _trip(self, breaker: Breaker, cause: str) -> None:
        breaker.trip(cause)
        if cause == DAMAGED:
            # A damaged file must be opened anew, whichever side met the damage first.
            self._reads.trip(cause)

    async def _recover(self, seconds: float) -> None:
        # One attempt at a time: requests that come meanwhile go on with memory instead of queueing here.
        if self._recovering.locked() or self._opening is not None:
            return
        async with self._recovering:
            try:
                await within(seconds, self._asked_again() or self._reopened())
            except StoreError as exc:
                self._reads.trip(exc.cause)
                return
            self._reads.reset()

    def _asked_again(self) -> Awaitable[object] | None:
        """
        Ask a store that was slow whether that is over: closing it would wait behind whatever holds it up.
        """
        if self._primary is None or self._reads.cause != SLOW:
            return None
        return self._primary.get_fact("probe")

    async def _reopened(self) -> None:
        """
        Open anew. What takes longer than is waited for goes on and is adopted at its end: cut short, an opening would
        leave its thread behind.
        """
        opening = within(self._patience.open_seconds, self._opened_anew())
        self._opening = asyncio.create_task(opening, name="open store")  # noqa: TID251 - kept here
        self._opening.add_done_callback(self._adopt)
        await asyncio.shield(self._opening)

    async def _opened_anew(self) -> RecordStore:
        primary, self._primary = self._primary, None
        if primary is not None:
            with suppress(StoreError):
                await primary.close()
        return await self._opener()

    def _adopt(self, opening: asyncio.Task[RecordStore]) -> None:
        self._opening = None
        if not opening.cancelled() and opening.exception() is None:
            self._primary = opening.result()
            self._reads.reset()


def _merged(here: tuple[Record, ...], there: tuple[Record, ...]) -> tuple[Record, ...]:
    by_key = {record.key: record for record in (*there, *here)}
    return in_order(by_key.values())
