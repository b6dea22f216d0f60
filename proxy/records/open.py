"""
Open the store that the settings name, to work with or to look into.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import cast

from proxy.errors import SettingsError, StoreError
from proxy.records.fallback import GuardedStore, Opener, Patience
from proxy.records.memory import MemoryStore
from proxy.records.settings import StoreSettings
from proxy.records.sqlite import SqliteStore
from proxy.records.sqlite_file import look_into, open_file
from proxy.records.store import Caps, Clock, RecordStore, StoreState
from proxy.records.unwritten import UnwrittenStore

# What memory may take while the real store is away.
FALLBACK_BYTES = 64 << 20
SHORTEST_KEY = 16
_SQLITE = "sqlite:///"


async def open_store(settings: StoreSettings, *, clock: Clock, patience: Patience | None = None) -> RecordStore:
    """
    Return a store that works, if need be in memory alone. Raises ``SettingsError`` where the settings cannot be met.
    """
    sealed = _sealing(settings.encryption_key)
    return sealed(await _opened(settings, clock=clock, patience=patience))


async def look_into_store(settings: StoreSettings, *, clock: Clock) -> RecordStore:
    """
    Return what the store holds, to be read: nothing in it is made, moved, changed or lives longer.

    Raises ``SettingsError`` where the settings cannot be met, ``StoreError`` where there is nothing to read.
    """
    sealed = _sealing(settings.encryption_key)
    if settings.url.startswith("memory://"):
        return sealed(MemoryStore(clock=clock))
    look, about = _opener(settings.url, clock=clock, caps=Caps(settings.ttl, settings.max_bytes), reads_only=True)
    try:
        return UnwrittenStore(sealed(await look()), clock=clock)
    except StoreError as exc:
        raise StoreError(f"{about.kind} {about.place}", exc.cause) from exc


async def _opened(settings: StoreSettings, *, clock: Clock, patience: Patience | None) -> RecordStore:
    caps = Caps(settings.ttl, settings.max_bytes)
    if settings.url.startswith("memory://"):
        return MemoryStore(clock=clock, caps=caps)
    opener, about = _opener(settings.url, clock=clock, caps=caps)
    behind = MemoryStore(clock=clock, caps=Caps(settings.ttl, min(settings.max_bytes, FALLBACK_BYTES)))
    store = GuardedStore(opener, behind, clock=clock, about=about, patience=patience)
    await store.start()
    return store


def sqlite_path(url: str) -> Path:
    """
    Return the file that a ``sqlite:///`` URL names; a fourth slash begins an absolute path.
    """
    name = url.removeprefix(_SQLITE)
    if not url.startswith(_SQLITE) or not name:
        raise SettingsError((f"store.url: {url} names no file; write sqlite:///~/file or sqlite:////absolute/file",))
    return Path(name).expanduser()


def _sealing(key: str | None) -> Callable[[RecordStore], RecordStore]:
    """
    Return what encrypts a store with *key*, or leaves it as it is where there is none.
    """
    if key is None:
        return lambda store: store
    if len(key) < SHORTEST_KEY:
        raise SettingsError((f"store.encryption_key: should have {SHORTEST_KEY} characters at least",))
    try:
        module = import_module("proxy.records.encryption")
    except ImportError as exc:
        wanted = "pip install 'concertina-proxy[encryption]'"
        raise SettingsError((f"store.encryption_key: encryption needs the extra: {wanted}",)) from exc
    seal = module.Seal(key)
    return lambda store: cast("RecordStore", module.SealedStore(store, seal))


def _opener(url: str, *, clock: Clock, caps: Caps, reads_only: bool = False) -> tuple[Opener, StoreState]:
    if url.startswith("sqlite:"):
        path, connect = sqlite_path(url), look_into if reads_only else open_file
        opener = partial(SqliteStore.open, path, clock=clock, caps=caps, connect=connect)
        return opener, StoreState("sqlite", str(path))
    try:
        # An extra: those who do not use Redis need not have its client.
        module = import_module("proxy.records.redis")
    except ImportError as exc:
        raise SettingsError(("store.url: Redis needs the extra: pip install 'concertina-proxy[redis]'",)) from exc
    opener = partial(module.RedisStore.open, url, clock=clock, caps=caps, renews=not reads_only)
    return opener, StoreState("redis", module.place_of(url))
