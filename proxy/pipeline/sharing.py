"""
One summary for all processes and replicas that share a store: one makes it, the others adopt its bytes.

The maker holds a lease, renewed while it works, so that the death of a process is noticed within seconds. What it
made is told in the store, first writer wins: a maker that lost its lease adopts what its successor told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any

import structlog

from proxy.chat.json import dumps, loads
from proxy.errors import SummaryError
from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.holding import Hold, held
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.leases import Lease
from proxy.records.store import RecordStore
from proxy.summaries.base import Summary

log = structlog.get_logger()
Make = Callable[[], Coroutine[Any, Any, Summary]]


@dataclass(frozen=True, slots=True)
class Pace:
    """
    Seconds: how a lease is held, how often the others look, from *look* up to *rarely*, and how long what was made, or
    a failure, is there to be adopted, or a wish counts.
    """

    hold: Hold = field(default_factory=Hold)
    look: float = 0.05
    rarely: float = 1.0
    adopt: float = 120.0
    failed: float = 5.0
    wanted: float = 5.0


class SummarySharing:
    """
    Makes a summary unless another process is making it.
    """

    def __init__(self, store: RecordStore, tasks: TaskKeeper, *, pace: Pace | None = None) -> None:
        self._store = store
        self._tasks = tasks
        self._pace = pace or Pace()

    async def once(self, key: str, make: Make) -> Summary:
        """
        Return the one summary of *key*. Raises ``SummaryError`` where it failed, here or elsewhere.

        A store that fails costs the sharing, not the summary.
        """
        try:
            lease = await self._lease(_name(key))
        except SummaryError:
            raise
        except Exception as fault:  # fail open: a store with a bug must not cost the summary
            log.exception("step.failed", step="share a summary", fault=type(fault).__name__)
            return await make()
        if isinstance(lease, Summary):
            return lease
        try:
            return await self._made(lease, make)
        finally:
            await guarded_async("release a summary", self._store.release(lease), otherwise=None)

    async def wanted(self, key: str) -> bool:
        """
        Tell whether another process waits for the summary of *key*.
        """
        # Who began to wait a moment ago may not have said so yet.
        await asyncio.sleep(2 * self._pace.look)
        return await self._store.get_fact(_wanted(_name(key))) is not None

    async def _lease(self, name: str) -> Lease | Summary:
        """
        Return the right to make the summary, or what another made; a failure counts for those who waited for it.
        """
        pause, waited = self._pace.look, False
        while (lease := await self._store.lease(name, self._pace.hold.lease)) is None:
            waited = True
            # The maker goes on without clients of its own as long as somebody says so.
            await self._store.put_fact(_wanted(name), b"1", self._pace.wanted)
            if (told := await self._told(name, waited=waited)) is not None:
                return told
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, self._pace.rarely)
        try:
            # Whoever held it before us may have finished since our last look.
            told = await self._told(name, waited=waited)
        except BaseException:
            await self._store.release(lease)
            raise
        if told is None:
            return lease
        await self._store.release(lease)
        return told

    async def _made(self, lease: Lease, make: Make) -> Summary:
        try:
            async with held(self._store, lease, self._tasks, self._pace.hold):
                summary = await make()
        except SummaryError as fault:
            await self._tell_failure(lease, {"fault": asdict(fault)})
            raise
        if summary.degraded:
            await self._tell_failure(lease, {"summary": asdict(summary)})
            return summary
        telling = self._store.put_fact_once(lease.key, dumps(asdict(summary)), self._pace.adopt)
        return _summary(await guarded_async("tell a summary", telling, otherwise=b"")) or summary

    async def _tell_failure(self, lease: Lease, failure: Mapping[str, object]) -> None:
        async def tell() -> None:
            # Only who still holds the lease may speak: a successor may be about to succeed.
            if await self._store.renew(lease, self._pace.hold.lease):
                await self._store.put_fact(_failure(lease.key), dumps(failure), self._pace.failed)

        await guarded_async("tell a failure", tell(), otherwise=None)

    async def _told(self, name: str, *, waited: bool) -> Summary | None:
        """
        Return the summary that was made. Raises ``SummaryError`` where those who waited are told that it failed.
        """
        summary = _summary(await self._store.get_fact(name))
        if summary is not None or not waited:
            return summary
        failure = await self._store.get_fact(_failure(name))
        data = {} if failure is None else loads(failure)
        if "fault" in data:
            raise SummaryError(**data["fault"])
        return _made_from(data["summary"]) if "summary" in data else None


def _name(key: str) -> str:
    return "summary:" + blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _wanted(name: str) -> str:
    return name + ":wanted"


def _failure(name: str) -> str:
    return name + ":failed"


def _summary(raw: bytes | None) -> Summary | None:
    with suppress(ValueError, TypeError, KeyError):
        return _made_from(loads(raw)) if raw else None
    return None


def _made_from(data: Mapping[str, Any]) -> Summary:
    return Summary(**{**data, "failures": tuple(data["failures"])})
