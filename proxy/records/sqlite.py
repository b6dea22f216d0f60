"""
The store in one SQLite file: survives restarts, shared by the workers of one machine.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import aiosqlite
from typing_extensions import override

from proxy.chat.json import dumps
from proxy.errors import StoreError
from proxy.records.leases import Lease, new_lease
from proxy.records.record import Record
from proxy.records.sqlite_file import cause_of, open_file
from proxy.records.store import Caps, Clock, RecordStore, StoreState, readable

Connect = Callable[[Path], sqlite3.Connection]
"""Opens a file. Raises ``StoreError``."""
# JSON lists as parameters: one statement, and one trip to the thread, for any number of digests.
# A cross join looks up one digest after another; IN would first sort all of them, which takes several times as long.
_FIND = """
    SELECT records.key, digest, used, body FROM json_each(?) AS asked CROSS JOIN records ON digest = asked.value
    ORDER BY created, records.key
"""
_GET = "SELECT body FROM records WHERE used > ? AND key IN (SELECT value FROM json_each(?))"
_PUT = """
    INSERT INTO records VALUES (:key, :digest, :created, :now, :size, :body)
    ON CONFLICT (key) DO UPDATE SET
        body = CASE WHEN used <= :oldest THEN excluded.body ELSE body END,
        size = CASE WHEN used <= :oldest THEN excluded.size ELSE size END,
        created = CASE WHEN used <= :oldest THEN excluded.created ELSE created END,
        used = excluded.used
    RETURNING body
"""
_TOUCH = "UPDATE records SET used = ? WHERE key IN (SELECT value FROM json_each(?))"
_RECENT = "SELECT body FROM records WHERE used > ? ORDER BY created DESC, key LIMIT ?"
# In slices: a look-up that comes in between must not wait for the whole of a large clean-up.
_SLICE = 200
_EXPIRE = "DELETE FROM records WHERE key IN (SELECT key FROM records WHERE used <= ? LIMIT ?) RETURNING 1"
_TRIM = """
    DELETE FROM records WHERE key IN (
        SELECT key FROM (
            SELECT key, sum(size) OVER (ORDER BY used, created, key) - size AS freed
            FROM (SELECT key, size, used, created FROM records ORDER BY used, created, key LIMIT ?)
        ) WHERE freed < ?
    ) RETURNING 1
"""
_GET_FACT = "SELECT value FROM facts WHERE name = ? AND coalesce(expires > ?, 1)"
_PUT_FACT = "INSERT OR REPLACE INTO facts VALUES (?, ?, ?)"
_PUT_FACT_ONCE = """
    INSERT INTO facts VALUES (:name, :value, :expires)
    ON CONFLICT (name) DO UPDATE SET
        value = CASE WHEN expires <= :now THEN excluded.value ELSE value END,
        expires = CASE WHEN expires <= :now THEN excluded.expires ELSE expires END
    RETURNING value
"""
_LEASE = """
    INSERT INTO leases VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET token = excluded.token, expires = excluded.expires WHERE expires <= ?
    RETURNING token
"""
_RENEW = "UPDATE leases SET expires = ? WHERE key = ? AND token = ? AND expires > ? RETURNING 1"
# Own writes are weighed against the cap after this share of it; between two looks it may be passed by as much.
_LOOK_AFTER = 16


class SqliteStore(RecordStore):
    """
    One connection in a thread of its own; WAL, so that readers never wait for a writer.
    """

    def __init__(self, connection: aiosqlite.Connection, path: Path, *, clock: Clock, caps: Caps) -> None:
        self._connection = connection
        self._path = path
        self._clock = clock
        self._caps = caps
        self._touched: set[str] = set()
        self._written = 0

    @classmethod
    async def open(cls, path: Path, *, clock: Clock, caps: Caps | None = None, connect: Connect = open_file) -> Self:
        """
        Open or begin the file at *path*; only read it where *connect* is ``look_into``. Raises ``StoreError``.
        """
        faults: list[StoreError] = []
        connection = await aiosqlite.Connection(partial(_opened, connect, path, faults), iter_chunk_size=64)
        if faults:
            await connection.close()
            raise faults[0]
        return cls(connection, path, clock=clock, caps=caps or Caps())

    @override
    def describe(self) -> StoreState:
        return StoreState("sqlite", str(self._path))

    @override
    async def find(self, digests: Sequence[str]) -> dict[str, tuple[Record, ...]]:
        oldest = self._oldest_use()
        found: dict[str, dict[str, bytes]] = {}
        for key, digest, used, body in await self._rows(_FIND, (_json(digests),)):
            if used > oldest or key in self._touched:
                found.setdefault(digest, {})[key] = body
                # Written with the next put or sweep: a look-up must not wait for a writer.
                self._touched.add(key)
        return {digest: records for digest, bodies in found.items() if (records := tuple(readable(bodies.values())))}

    @override
    async def get(self, keys: Sequence[str]) -> dict[str, Record]:
        rows = await self._rows(_GET, (self._oldest_use(), _json(keys)))
        return {record.key: record for record in readable(body for (body,) in rows)}

    @override
    async def put(self, record: Record) -> Record:
        await self._touch()
        body = record.to_bytes()
        values = {"key": record.key, "digest": record.digest, "created": record.created, "body": body}
        now = {"now": self._clock(), "oldest": self._oldest_use(), "size": len(body)}
        ((stored,),) = await self._rows(_PUT, values | now)
        self._written += len(body)
        if self._written > self._caps.max_bytes // _LOOK_AFTER:
            await self._trim()
        if stored == body:
            return record
        for known in readable([stored]):
            return known
        # What cannot be read must not hold the key for ever.
        await self.delete(record.key)
        return await self.put(record)

    @override
    async def delete(self, key: str) -> None:
        self._touched.discard(key)
        await self._rows("DELETE FROM records WHERE key = ?", (key,))

    @override
    async def recent(self, limit: int) -> list[Record]:
        return readable([body for (body,) in await self._rows(_RECENT, (self._oldest_use(), limit))])

    @override
    async def get_fact(self, name: str) -> bytes | None:
        rows = await self._rows(_GET_FACT, (name, self._clock()))
        return rows[0][0] if rows else None

    @override
    async def put_fact(self, name: str, value: bytes, ttl_seconds: float | None = None) -> None:
        await self._rows(_PUT_FACT, (name, value, self._after(ttl_seconds)))

    @override
    async def put_fact_once(self, name: str, value: bytes, ttl_seconds: float | None = None) -> bytes:
        values = {"name": name, "value": value, "expires": self._after(ttl_seconds), "now": self._clock()}
        ((known,),) = await self._rows(_PUT_FACT_ONCE, values)
        return bytes(known)

    @override
    async def lease(self, key: str, seconds: float) -> Lease | None:
        lease, now = new_lease(key), self._clock()
        return lease if await self._rows(_LEASE, (key, lease.token, now + seconds, now)) else None

    @override
    async def renew(self, lease: Lease, seconds: float) -> bool:
        now = self._clock()
        return bool(await self._rows(_RENEW, (now + seconds, lease.key, lease.token, now)))

    @override
    async def release(self, lease: Lease) -> None:
        await self._rows("DELETE FROM leases WHERE key = ? AND token = ?", (lease.key, lease.token))

    @override
    async def sweep(self, now: float) -> int:
        await self._touch()
        await self._rows("DELETE FROM facts WHERE expires <= ?", (now,))
        await self._rows("DELETE FROM leases WHERE expires <= ?", (now,))
        expired = await self._expire(now - self._caps.ttl_seconds)
        trimmed = await self._trim()
        await self._give_back()
        return expired + trimmed

    @override
    async def close(self) -> None:
        try:
            await self._connection.close()
        except sqlite3.Error as exc:
            raise StoreError("sqlite", cause_of(exc)) from exc

    async def _touch(self) -> None:
        if self._touched:
            touched, self._touched = self._touched, set()
            await self._rows(_TOUCH, (self._clock(), _json(sorted(touched))))

    async def _expire(self, oldest: float) -> int:
        removed = 0
        while rows := await self._rows(_EXPIRE, (oldest, _SLICE)):
            removed += len(rows)
        return removed

    async def _trim(self) -> int:
        self._written, removed = 0, 0
        while (excess := await self._excess()) > 0:
            removed += len(await self._rows(_TRIM, (_SLICE, excess)))
        return removed

    async def _excess(self) -> float:
        ((total,),) = await self._rows("SELECT total(size) FROM records")
        return float(total) - self._caps.max_bytes

    async def _give_back(self) -> None:
        try:
            # As a script, since this pragma frees one page a step and a plain execute steps once.
            await self._connection.executescript("PRAGMA incremental_vacuum(1024)")
        except (sqlite3.Error, ValueError) as exc:
            raise StoreError("sqlite", cause_of(exc)) from exc

    async def _rows(self, statement: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[Any]:
        try:
            return list(await self._connection.execute_fetchall(statement, values))
        except (sqlite3.Error, ValueError) as exc:
            # aiosqlite says ValueError of a connection that is closed.
            raise StoreError("sqlite", cause_of(exc)) from exc

    def _oldest_use(self) -> float:
        return self._clock() - self._caps.ttl_seconds

    def _after(self, ttl_seconds: float | None) -> float | None:
        return None if ttl_seconds is None else self._clock() + ttl_seconds


def _opened(connect: Connect, path: Path, faults: list[StoreError]) -> sqlite3.Connection:
    """
    Open the file, or nothing at all where it cannot be opened.

    A connection that fails to open leaves a thread that nobody waits for, and that fails once the loop is gone.
    """
    try:
        return connect(path)
    except StoreError as fault:
        faults.append(fault)
        return sqlite3.connect(":memory:")


def _json(values: Sequence[str]) -> str:
    return dumps(list(values)).decode("ascii", "replace")
