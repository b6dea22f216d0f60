"""
Hold a lease for as long as its work takes: a short one, renewed, so that the death of a process is noticed soon.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from proxy.pipeline.guarded import guarded_async
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.leases import Lease
from proxy.records.store import RecordStore


@dataclass(frozen=True, slots=True)
class Hold:
    """
    Seconds: how long a *lease* holds, and how often it is renewed.
    """

    lease: float = 15.0
    renew: float = 5.0


@asynccontextmanager
async def held(store: RecordStore, lease: Lease, tasks: TaskKeeper, hold: Hold) -> AsyncIterator[None]:
    """
    Renew *lease* while the block runs; one that is lost all the same stops nothing. It is left to be given back.
    """
    renewing = tasks.start(_renewing(store, lease, hold), name="renew a lease")
    try:
        yield
    finally:
        renewing.cancel()


async def _renewing(store: RecordStore, lease: Lease, hold: Hold) -> None:
    while True:
        await asyncio.sleep(hold.renew)
        await guarded_async("renew a lease", store.renew(lease, hold.lease), otherwise=False)
