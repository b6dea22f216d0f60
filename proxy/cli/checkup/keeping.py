"""
Whether records can be kept, and tokens be counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from proxy.cli.checkup.finding import Finding, fault, note, ok
from proxy.errors import SettingsError, StoreError
from proxy.records.open import open_store
from proxy.records.settings import StoreSettings
from proxy.records.store import RecordStore, StoreState
from proxy.tokens.table import ENCODING_NAME
from proxy.tokens.vocabulary import Vocabulary

STORE, TABLES = "store", "token tables"
PROBE, PROBE_SECONDS = "doctor", 60.0
_WITHOUT = "until then records live in memory, and a restart costs one summary a conversation"


async def check_store(settings: StoreSettings, *, clock: Callable[[], float]) -> Finding:
    """
    Open the store as the proxy would, write something and read it again.
    """
    try:
        store = await open_store(settings, clock=clock)
    except SettingsError as why:
        return fault(STORE, "store.url", "; ".join(why.mistakes), "change the store settings as it says")
    try:
        return await _written(store)
    finally:
        await store.close()


async def _written(store: RecordStore) -> Finding:
    with suppress(StoreError):
        await store.put_fact(PROBE, b"written", PROBE_SECONDS)
        await store.get_fact(PROBE)
    state = store.describe()
    subject = f"{state.kind} {state.place}"
    if not state.healthy:
        return fault(STORE, subject, f"does not work: {state.cause}", f"{_advice(state)}; {_WITHOUT}")
    if state.kind == "memory":
        return note(STORE, subject, "works; records go with the process", "set store.url to keep them")
    return ok(STORE, subject, "can be written and read")


def _advice(state: StoreState) -> str:
    if state.kind == "redis":
        return f"start Redis, or correct the host, port and password of store.url ({state.place})"
    return f"let this user write {state.place} and its folder (chown, chmod), or set another store.url"


async def check_tables(vocabulary: Vocabulary) -> Finding:
    """
    Load the token tables.
    """
    try:
        await asyncio.to_thread(vocabulary.load)
    except (OSError, ValueError):
        advice = (
            "install the package again: pip install --force-reinstall concertina-proxy; until then sizes are estimates"
        )
        return fault(TABLES, ENCODING_NAME, "are missing or damaged", advice)
    return ok(TABLES, ENCODING_NAME, "are loaded: counts are exact")
