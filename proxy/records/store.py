"""
The seam every store stands behind: compaction records, small facts, leases.

Foreign errors are translated at this border: whatever a database throws, callers see ``StoreError``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from proxy.records.leases import Lease
from proxy.records.record import Record

Clock = Callable[[], float]
"""Seconds since the epoch; every process that shares a store reads much the same time."""


@dataclass(frozen=True, slots=True)
class Caps:
    """
    How long a record that nobody uses is kept, and how many bytes all of them may take.
    """

    ttl_seconds: float = 7 * 86_400.0
    max_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class StoreState:
    """
    What ``/readyz`` and the admin port tell of a store; *cause* says why it is not healthy. No secret is in it.
    """

    kind: str
    place: str
    healthy: bool = True
    cause: str = ""
    figures: dict[str, int] = field(default_factory=dict)


class RecordStore(ABC):
    """
    Keeps records, which are immutable, and facts, which may be replaced. Every method may raise ``StoreError``.
    """

    @property
    def healthy(self) -> bool:
        """
        Tell whether the store works as configured.
        """
        return self.describe().healthy

    @abstractmethod
    def describe(self) -> StoreState:
        """
        Say what the store is and how it is, without asking it.
        """

    @abstractmethod
    async def find(self, digests: Sequence[str]) -> dict[str, tuple[Record, ...]]:
        """
        Return the records of each digest that has any, oldest first, in one round trip; what is found lives on.
        """

    @abstractmethod
    async def get(self, keys: Sequence[str]) -> dict[str, Record]:
        """
        Return the records of these keys, in one round trip; looking at a record does not make it live longer.
        """

    @abstractmethod
    async def put(self, record: Record) -> Record:
        """
        Keep *record* unless its key is taken, and return the one that is stored: the first writer wins.
        """

    @abstractmethod
    async def delete(self, key: str) -> None:
        """
        Forget one record; nothing happens where there is none.
        """

    @abstractmethod
    async def recent(self, limit: int) -> list[Record]:
        """
        Return the records made last, newest first.
        """

    @abstractmethod
    async def get_fact(self, name: str) -> bytes | None:
        """
        Return a fact, or nothing where it was never told or has expired.
        """

    @abstractmethod
    async def put_fact(self, name: str, value: bytes, ttl_seconds: float | None = None) -> None:
        """
        Tell a fact, replacing what was told before; without a time to live it stays.
        """

    @abstractmethod
    async def put_fact_once(self, name: str, value: bytes, ttl_seconds: float | None = None) -> bytes:
        """
        Tell a fact unless it is known, and return what is known: the first writer wins.
        """

    @abstractmethod
    async def lease(self, key: str, seconds: float) -> Lease | None:
        """
        Take the lease of *key*, or return nothing while another holds it.
        """

    @abstractmethod
    async def renew(self, lease: Lease, seconds: float) -> bool:
        """
        Hold a lease for so long from now, and tell whether it is still held: one that expired or passed on is lost.
        """

    @abstractmethod
    async def release(self, lease: Lease) -> None:
        """
        Give a lease back; one that has passed on to another holder is left alone.
        """

    @abstractmethod
    async def sweep(self, now: float) -> int:
        """
        Remove what has expired and what is over the cap, least recently used first; return how many records went.
        """

    @abstractmethod
    async def close(self) -> None:
        """
        Let go of files and connections.
        """


def readable(bodies: Iterable[bytes]) -> list[Record]:
    """
    Return the records that can be read; one that cannot, damaged or of a later version, counts as absent.
    """
    records = []
    for body in bodies:
        with suppress(ValueError):
            records.append(Record.from_bytes(body))
    return records


def in_order(records: Iterable[Record]) -> tuple[Record, ...]:
    """
    Return records oldest first, always in the same order.
    """
    return tuple(sorted(records, key=lambda record: (record.created, record.key)))
