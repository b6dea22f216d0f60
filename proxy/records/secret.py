"""
The secret that seeds every digest: given, or made once and kept in the store.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from proxy.records.settings import StoreSettings
from proxy.records.store import RecordStore

FACT = "secret"
SECRET_BYTES = 32


async def load_secret(
    store: RecordStore, settings: StoreSettings, *, make: Callable[[int], bytes] = secrets.token_bytes
) -> bytes:
    """
    Return the secret of the settings, or the one that all users of the store share.
    """
    if settings.secret is not None:
        return settings.secret.encode("utf-8", "surrogatepass")
    known = await store.get_fact(FACT)
    if known is not None:
        return known
    # Whoever comes first decides; replicas that start together end up with the same one.
    return await store.put_fact_once(FACT, make(SECRET_BYTES))
