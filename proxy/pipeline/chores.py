"""
What runs beside the exchanges from the start: load the tables, sweep the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import structlog

from proxy.errors import StoreError
from proxy.pipeline.heap import give_back
from proxy.pipeline.prices import PriceBook
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.store import RecordStore
from proxy.tokens.vocabulary import Vocabulary

log = structlog.get_logger()
SWEEP_SECONDS = 600.0
"""How often a store forgets what is too old or too much."""


def start_chores(
    tasks: TaskKeeper, vocabulary: Vocabulary, prices: PriceBook, store: RecordStore, clock: Callable[[], float]
) -> None:
    """
    Start them all; nothing waits for them but readiness for the token tables.
    """
    tasks.start(_load(vocabulary), name="vocabulary")
    tasks.start(_load_prices(prices), name="prices")
    tasks.start(_sweep(store, clock), name="sweep")


async def _load(vocabulary: Vocabulary) -> None:
    try:
        if not vocabulary.failed:  # which was told then
            await asyncio.to_thread(vocabulary.load)
    except (OSError, ValueError) as fault:
        log.warning("vocabulary.failed", fault=str(fault))
    await asyncio.to_thread(give_back)


async def _load_prices(prices: PriceBook) -> None:
    await asyncio.to_thread(prices.load)
    await asyncio.to_thread(give_back)


async def _sweep(store: RecordStore, clock: Callable[[], float]) -> None:
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        with suppress(StoreError):
            await store.sweep(clock())
