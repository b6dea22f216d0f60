"""
What it costs to know a conversation again: parse it, hash its rows, look its digests up among other records.
"""

import asyncio
import time
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

from bench.speed import bodies
from bench.speed.figures import Spread, spread
from proxy.chat.request import ChatRequest
from proxy.records.identity import prefix_digests, row_digest, seed
from proxy.records.record import Record
from proxy.records.row_digests import RowDigests
from proxy.records.sqlite import SqliteStore
from proxy.records.store import Caps

OTHERS = 1_000
"""Records of other conversations in the store."""
PLAIN = Record(key="", digest="", scope="s", covered=4, head_end=0, cut=4, summary="The parser was fixed. " * 100)
BYTES = 600_000


def recognition(folder: Path, *, times: int) -> dict[str, Spread]:
    """
    Return milliseconds of CPU for a conversation of 600 KB of which every row was seen before.
    """
    return asyncio.run(_recognition(folder / "recognise.db", times))


async def _recognition(file: Path, times: int) -> dict[str, Spread]:
    store = await SqliteStore.open(file, clock=time.monotonic, caps=Caps())
    took: dict[str, list[float]] = {"parse": [], "hashing": [], "look-up": []}
    start = seed(b"secret", "tenant", "route", "namespace")
    body = bodies.chat(bodies.conversation(BYTES), model="mid")
    rows = RowDigests(row_digest)
    try:
        for number in range(OTHERS):
            digest = blake2b(str(number).encode(), digest_size=16).hexdigest()
            await store.put(replace(PLAIN, key=str(number), digest=digest))
        for turn in range(1 + times):
            marks = [time.process_time()]
            # Parsed anew each time, since Python keeps the hash of a text that it hashed before.
            request = ChatRequest.parse(body)
            marks.append(time.process_time())
            digests = prefix_digests(request.messages, seed=start, remembered=rows)
            marks.append(time.process_time())
            await store.find(digests)
            marks.append(time.process_time())
            for name, (begun, ended) in zip(took, pairwise(marks), strict=True):
                took[name] += [(ended - begun) * 1e3] if turn else []
    finally:
        await store.close()
    return {name: spread(values) for name, values in took.items()}
