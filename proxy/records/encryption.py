"""
Encryption at rest, for any store. Needs the ``encryption`` extra; imported only where a key is configured.

What people wrote is sealed: summaries, titles, session hints, and every fact. Digests, numbers and times stay as they
are, since stores look up, order and expire by them. A seal is bound to the key or name it was made for.
"""

from __future__ import annotations

import hashlib
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from dataclasses import replace

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from typing_extensions import override

from proxy.chat.json import dumps, loads
from proxy.records.leases import Lease
from proxy.records.record import Record
from proxy.records.store import RecordStore, StoreState

PREFIX = "sealed:"
_NONCE_BYTES = 12
_SALT = b"concertina store, version 1"
_FINGERPRINT_BYTES = 6


class Seal:
    """
    Seals and opens with one key; anything that was not sealed with it cannot be opened.
    """

    def __init__(self, key: str) -> None:
        # Slow on purpose, once at the start: a key may be a passphrase.
        raw = hashlib.scrypt(key.encode("utf-8", "surrogatepass"), salt=_SALT, n=2**14, r=8, p=1, dklen=32)
        self._cipher = AESGCM(raw)
        self.fingerprint = hashlib.blake2b(raw, digest_size=_FINGERPRINT_BYTES, person=b"fingerprint").hexdigest()

    def close(self, data: bytes, *, of: str) -> bytes:
        """
        Return *data* sealed for *of*.
        """
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + bytes(self._cipher.encrypt(nonce, data, of.encode("utf-8", "surrogatepass")))

    def open(self, sealed: bytes, *, of: str) -> bytes | None:
        """
        Return what was sealed for *of*; nothing where another key sealed it, or it was changed.
        """
        nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return bytes(self._cipher.decrypt(nonce, body, of.encode("utf-8", "surrogatepass")))
        except (InvalidTag, ValueError):
            return None


class SealedStore(RecordStore):
    """
    A store that holds nothing readable. What cannot be opened counts as absent, so a wrong key costs summaries alone.

    Facts have the key's fingerprint in their name: with another key the secret is another one, so that two users of
    one store with different keys never meet.
    """

    def __init__(self, inner: RecordStore, seal: Seal) -> None:
        self._inner = inner
        self._seal = seal

    @override
    def describe(self) -> StoreState:
        return self._inner.describe()

    @override
    async def find(self, digests: Sequence[str]) -> dict[str, tuple[Record, ...]]:
        found = await self._inner.find(digests)
        opened = {digest: tuple(self._all_opened(records)) for digest, records in found.items()}
        return {digest: records for digest, records in opened.items() if records}

    @override
    async def get(self, keys: Sequence[str]) -> dict[str, Record]:
        found = await self._inner.get(keys)
        return {record.key: record for record in self._all_opened(found.values())}

    @override
    async def put(self, record: Record) -> Record:
        stored = self._opened(await self._inner.put(self._sealed(record)))
        if stored is not None:
            return stored
        # What cannot be opened must not hold the key for ever.
        await self._inner.delete(record.key)
        return self._opened(await self._inner.put(self._sealed(record))) or record

    @override
    async def delete(self, key: str) -> None:
        await self._inner.delete(key)

    @override
    async def recent(self, limit: int) -> list[Record]:
        return self._all_opened(await self._inner.recent(limit))

    @override
    async def get_fact(self, name: str) -> bytes | None:
        sealed = await self._inner.get_fact(self._name(name))
        return None if sealed is None else self._seal.open(sealed, of=name)

    @override
    async def put_fact(self, name: str, value: bytes, ttl_seconds: float | None = None) -> None:
        await self._inner.put_fact(self._name(name), self._seal.close(value, of=name), ttl_seconds)

    @override
    async def put_fact_once(self, name: str, value: bytes, ttl_seconds: float | None = None) -> bytes:
        known = await self._inner.put_fact_once(self._name(name), self._seal.close(value, of=name), ttl_seconds)
        opened = self._seal.open(known, of=name)
        if opened is not None:
            return opened
        await self.put_fact(name, value, ttl_seconds)
        return value

    @override
    async def lease(self, key: str, seconds: float) -> Lease | None:
        return await self._inner.lease(key, seconds)

    @override
    async def renew(self, lease: Lease, seconds: float) -> bool:
        return await self._inner.renew(lease, seconds)

    @override
    async def release(self, lease: Lease) -> None:
        await self._inner.release(lease)

    @override
    async def sweep(self, now: float) -> int:
        return await self._inner.sweep(now)

    @override
    async def close(self) -> None:
        await self._inner.close()

    def _name(self, name: str) -> str:
        return f"{name}@{self._seal.fingerprint}"

    def _sealed(self, record: Record) -> Record:
        text = dumps([record.summary, record.title, record.session])
        sealed = PREFIX + b64encode(self._seal.close(text, of=record.key)).decode("ascii")
        return replace(record, summary=sealed, title="", session="")

    def _opened(self, record: Record) -> Record | None:
        """
        Return the record as it was; nothing for one that was kept as text, or with another key.
        """
        sealed = record.summary or ""
        if not sealed.startswith(PREFIX):
            return None
        try:
            text = self._seal.open(b64decode(sealed.removeprefix(PREFIX), validate=True), of=record.key)
        except ValueError:
            return None
        if text is None:
            return None
        summary, title, session = loads(text)
        return replace(record, summary=summary, title=title, session=session)

    def _all_opened(self, records: Iterable[Record]) -> list[Record]:
        opened = (self._opened(record) for record in records)
        return [record for record in opened if record is not None]
