"""
Pages kept beside the records: what was folded, and views from before and after. Off unless settings switch it on.

They live in the store like records, so that its size, its times, its first-writer rule and its encryption hold for them.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from proxy.chat.json import dumps, loads
from proxy.records.record import Record
from proxy.records.store import RecordStore

PageKind = Literal["archive", "view"]
PAGE_SCOPES = frozenset({"archive", "view"})
"""The scopes of pages, which are no compactions; no fingerprint of settings looks like them."""


class Shelf:
    """
    Puts JSON on pages of a store and reads it back. May raise ``StoreError``.
    """

    def __init__(self, store: RecordStore) -> None:
        self._store = store

    async def put(self, kind: PageKind, key: str, data: Any) -> None:
        """
        Keep *data* for the record of this key.
        """
        text = b64encode(zlib.compress(dumps(data), 6)).decode("ascii")
        name = f"{kind}:{key}"
        # Without a time of creation pages stand behind all records, so that they push none out of the newest.
        page = Record(key=name, digest=name, scope=kind, covered=0, head_end=0, cut=0, summary=text)
        await self._store.put(page)

    async def get(self, kind: PageKind, keys: Sequence[str]) -> dict[str, Any]:
        """
        Return what is kept for these keys; what is gone or damaged is left out.
        """
        pages = await self._store.get([f"{kind}:{key}" for key in keys])
        read = ((name.partition(":")[2], _read(page.summary or "")) for name, page in pages.items())
        return {key: data for key, data in read if data is not None}


def without_pages(records: Iterable[Record]) -> list[Record]:
    """
    Return the records that are compactions.
    """
    return [record for record in records if record.scope not in PAGE_SCOPES]


def _read(text: str) -> Any:
    try:
        return loads(zlib.decompress(b64decode(text, validate=True)))
    except (ValueError, zlib.error):
        return None
