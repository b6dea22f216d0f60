"""
The store in Redis: shared by several replicas. Needs the ``redis`` extra; imported only where the URL asks for it.

Each method is one round trip. Scripts make look-ups and first-writer-wins atomic; they name keys that they find in
other keys, so a Redis Cluster will not do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, Self, cast
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
)
from redis.exceptions import (
    ConnectionError as RedisConnectionError,
)
from redis.exceptions import (
    TimeoutError as RedisTimeoutError,
)
from typing_extensions import override

from proxy.errors import StoreError
from proxy.records import redis_scripts as scripts
from proxy.records.leases import Lease, new_lease
from proxy.records.record import Record
from proxy.records.store import Caps, Clock, RecordStore, StoreState, in_order, readable

CONNECT_SECONDS = 1.0
ANSWER_SECONDS = 2.0

_CAUSES: tuple[tuple[type[Exception], str], ...] = (
    (AuthenticationError, "not permitted"),
    (ReadOnlyError, "read-only"),
    (OutOfMemoryError, "full"),
    (RedisTimeoutError, "slow"),
    (RedisConnectionError, "down"),
    (OSError, "down"),
)


class RedisStore(RecordStore):
    """
    Records live in one hash a digest, so that a look-up reads no index.
    """

    def __init__(self, client: Redis, place: str, *, clock: Clock, caps: Caps, renews: bool = True) -> None:
        self._client = client
        self._place = place
        self._clock = clock
        self._caps = caps
        self._ttl = _milliseconds(caps.ttl_seconds)
        self._renewed = self._ttl if renews else 0
        self._find = client.register_script(scripts.FIND)
        self._get = client.register_script(scripts.GET)
        self._put = client.register_script(scripts.PUT)
        self._delete = client.register_script(scripts.DELETE)
        self._recent = client.register_script(scripts.RECENT)
        self._sweep = client.register_script(scripts.SWEEP)
        self._fact_once = client.register_script(scripts.PUT_FACT_ONCE)
        self._renew = client.register_script(scripts.RENEW)
        self._release = client.register_script(scripts.RELEASE)

    @classmethod
    async def open(cls, url: str, *, clock: Clock, caps: Caps | None = None, renews: bool = True) -> Self:
        """
        Connect to the server at *url*; what is found lives on where it *renews*. Raises ``StoreError``.
        """
        # One more try at once: a connection of the pool may have died while it was idle. Without driver info, since
        # the client would read its own version from disk with each connection, in the event loop.
        client = Redis.from_url(
            url,
            driver_info=None,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 1),
        )
        store = cls(client, place_of(url), clock=clock, caps=caps or Caps(), renews=renews)
        try:
            await _answer(client.ping())
        except BaseException:
            await client.aclose()
            raise
        return store

    @override
    def describe(self) -> StoreState:
        return StoreState("redis", self._place)

    @override
    async def find(self, digests: Sequence[str]) -> dict[str, tuple[Record, ...]]:
        wanted = list(dict.fromkeys(digests))
        answer = await _answer(self._find(keys=wanted, args=[self._renewed, self._clock()]))
        found: dict[str, list[bytes]] = {}
        for number, body in zip(answer[::2], answer[1::2], strict=True):
            found.setdefault(wanted[number], []).append(body)
        return {digest: records for digest, bodies in found.items() if (records := in_order(readable(bodies)))}

    @override
    async def get(self, keys: Sequence[str]) -> dict[str, Record]:
        bodies = await _answer(self._get(keys=list(dict.fromkeys(keys))))
        return {record.key: record for record in readable(bodies)}

    @override
    async def put(self, record: Record) -> Record:
        body = record.to_bytes()
        arguments: list[bytes | int | float] = [body, self._ttl, record.created, self._clock()]
        stored = await _answer(self._put(keys=[record.key, record.digest], args=arguments))
        if stored == body:
            return record
        for known in readable([stored]):
            return known
        # What cannot be read must not hold the key for ever.
        await self.delete(record.key)
        return await self.put(record)

    @override
    async def delete(self, key: str) -> None:
        await _answer(self._delete(keys=[key]))

    @override
    async def recent(self, limit: int) -> list[Record]:
        return readable(await _answer(self._recent(args=[limit])))

    @override
    async def get_fact(self, name: str) -> bytes | None:
        return cast("bytes | None", await _answer(self._client.get(scripts.FACT + name)))

    @override
    async def put_fact(self, name: str, value: bytes, ttl_seconds: float | None = None) -> None:
        expires = None if ttl_seconds is None else _milliseconds(ttl_seconds)
        await _answer(self._client.set(scripts.FACT + name, value, px=expires))

    @override
    async def put_fact_once(self, name: str, value: bytes, ttl_seconds: float | None = None) -> bytes:
        expires = 0 if ttl_seconds is None else _milliseconds(ttl_seconds)
        return cast("bytes", await _answer(self._fact_once(keys=[scripts.FACT + name], args=[value, expires])))

    @override
    async def lease(self, key: str, seconds: float) -> Lease | None:
        lease = new_lease(key)
        taken = self._client.set(scripts.LEASE + key, lease.token, px=_milliseconds(seconds), nx=True)
        return lease if await _answer(taken) else None

    @override
    async def renew(self, lease: Lease, seconds: float) -> bool:
        key = scripts.LEASE + lease.key
        return bool(await _answer(self._renew(keys=[key], args=[lease.token, _milliseconds(seconds)])))

    @override
    async def release(self, lease: Lease) -> None:
        await _answer(self._release(keys=[scripts.LEASE + lease.key], args=[lease.token]))

    @override
    async def sweep(self, now: float) -> int:
        removed = 0
        # In slices, since Redis answers nobody else while a script runs.
        while gone := await _answer(self._sweep(args=[now - self._caps.ttl_seconds, self._caps.max_bytes])):
            removed += gone
        return removed

    @override
    async def close(self) -> None:
        await _answer(self._client.aclose())


def place_of(url: str) -> str:
    """
    Return where *url* points, without its password.
    """
    parts = urlsplit(url)
    host = f"{parts.hostname}:{parts.port or 6379}" if parts.hostname else ""
    return f"{parts.scheme}://{host}{parts.path}"


async def _answer(waiting: Awaitable[Any]) -> Any:
    try:
        return await waiting
    except (RedisError, OSError) as exc:
        cause = next((cause for kind, cause in _CAUSES if isinstance(exc, kind)), type(exc).__name__)
        raise StoreError("redis", cause) from exc


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1_000))
