"""
What it costs to know a conversation again: parse it, hash its rows, look its digests up among other records.

Once as a whole, as after a restart of its client, and once as the turn after one that was seen.
"""

import asyncio
import time
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

from bench.speed import bodies
from bench.speed.figures import Spread, spread
from proxy.chat.recent import continued
from proxy.chat.request import ChatRequest
from proxy.pipeline.conversations import NEWEST_ROWS
from proxy.records.identity import more_digests, prefix_digests, row_digest, seed
from proxy.records.record import Record
from proxy.records.row_digests import RowDigests
from proxy.records.sqlite import SqliteStore
from proxy.records.store import Caps

OTHERS = 1_000
"""Records of other conversations in the store."""
PLAIN = Record(key="", digest="", scope="s", covered=4, head_end=0, cut=4, summary="The parser was fixed. " * 100)
BYTES = 600_000
TURN_ROWS, TURN_BYTES = 4, 4_000
WHOLE = ("parse", "hashing", "look-up")
TURN = ("parse of a turn", "hashing of a turn", "look-up of a turn")


def recognition(folder: Path, *, times: int) -> dict[str, Spread]:
    """
    Return milliseconds of CPU for a conversation of 600 KB of which every row was seen before.
    """
    return asyncio.run(_recognition(folder / "recognise.db", times))


async def _recognition(file: Path, times: int) -> dict[str, Spread]:
    store = await SqliteStore.open(file, clock=time.monotonic, caps=Caps())
    took: dict[str, list[float]] = {name: [] for name in (*WHOLE, *TURN)}
    start = seed(b"secret", "tenant", "route", "namespace")
    history = bodies.conversation(BYTES + times * TURN_BYTES)
    body = bodies.chat(bodies.conversation(BYTES), model="mid")
    seen = ChatRequest.parse(bodies.chat(history[: len(history) - (1 + times) * TURN_ROWS], model="mid"))
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
            _note(took, WHOLE, marks, counts=turn > 0)
            longer = bodies.chat(history[: len(history) - (times - turn) * TURN_ROWS], model="mid")
            marks = [time.process_time()]
            seen = continued(longer, [seen])
            marks.append(time.process_time())
            digests = tuple(seen.notes.on("digests", partial(more_digests, seed=start, digest=rows.of)))
            marks.append(time.process_time())
            await store.find(digests[-NEWEST_ROWS:])
            marks.append(time.process_time())
            _note(took, TURN, marks, counts=turn > 0)
    finally:
        await store.close()
    return {name: spread(values) for name, values in took.items()}


def _note(took: dict[str, list[float]], names: tuple[str, ...], marks: list[float], *, counts: bool) -> None:
    for name, (begun, ended) in zip(names, pairwise(marks), strict=True):
        took[name] += [(ended - begun) * 1e3] if counts else []
