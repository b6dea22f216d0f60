"""
Whether records can be kept, and tokens be counted.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from proxy.cli.checkup.finding import Finding, fault, note, ok
from proxy.errors import SettingsError, StoreError
from proxy.records.open import look_into_store, open_store, sqlite_path
from proxy.records.settings import StoreSettings
from proxy.records.sqlite_file import EMPTY, NO_DATABASE, OLDER
from proxy.records.store import RecordStore, StoreState
from proxy.tokens.table import ENCODING_NAME
from proxy.tokens.vocabulary import Vocabulary

STORE, TABLES = "store", "token tables"
PROBE, PROBE_SECONDS = "doctor", 60.0
_AFRESH = (
    "if it is the store, start the proxy, which moves it to {path}.corrupt and begins a new one; if it is anything else, "
    "set another store.url"
)
_WITHOUT = "until then records live in memory, and a restart costs one summary a conversation"


async def check_store(settings: StoreSettings, *, clock: Callable[[], float]) -> Finding:
    """
    Look into the store and, where it is one of ours, write something that does not last and read it again.

    What the proxy would make, move aside or bring up to date is left to the proxy.
    """
    try:
        if settings.url.startswith("sqlite:") and (found := await _file(settings, clock)) is not None:
            return found
        store = await open_store(settings, clock=clock)
    except SettingsError as why:
        return fault(STORE, "store.url", "; ".join(why.mistakes), "change the store settings as it says")
    try:
        return await _written(store)
    finally:
        await store.close()


async def _file(settings: StoreSettings, clock: Callable[[], float]) -> Finding | None:
    """
    Return what there is to say of a file that is none, or no sound one of ours, which is not to be opened.
    """
    path = sqlite_path(settings.url)
    subject = f"sqlite {path}"
    if not path.exists():
        return await asyncio.to_thread(_not_there, path)
    try:
        store = await look_into_store(settings, clock=clock)
    except StoreError as exc:
        if exc.cause == NO_DATABASE:
            return fault(STORE, subject, exc.cause, _AFRESH.format(path=path))
        return note(STORE, subject, exc.cause) if exc.cause in {EMPTY, OLDER} else None
    await store.close()
    return None


def _not_there(path: Path) -> Finding:
    folder = next(each for each in path.absolute().parents if each.exists())
    try:
        # It has no name, or loses it at once; being allowed to write says nothing of a disk that is full or /proc.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as exc:
        state = StoreState("sqlite", str(path))
        return fault(STORE, f"sqlite {path}", f"does not work: {exc.strerror}", f"{_advice(state)}; {_WITHOUT}")
    return ok(STORE, f"sqlite {path}", "is not there yet, and can be made")


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
