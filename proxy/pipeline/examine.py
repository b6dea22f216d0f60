"""
Look at an answer before anything of it is relayed: it may be a refusal in some dress.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

from proxy.chat.json import loads
from proxy.chat.patterns import Patience
from proxy.chat.sse import SseEvent, SseSplitter
from proxy.pipeline.decoding import Decoder, decoder_of
from proxy.pipeline.guarded import guarded
from proxy.pipeline.heads import Heads, by_name
from proxy.pipeline.watching import Seen, seen_in
from proxy.recovery.classify import classify
from proxy.recovery.fault import Fault
from proxy.recovery.peek import AnswerLimits, Sign, StreamVerdict, judge_answer, judge_end, judge_event
from proxy.recovery.settings import PatternRule
from proxy.upstream.wire import Answer, Prefixed, ReadyChunks

HOLD_SECONDS = 3.0
"""Seconds after the upstream's headers for which role-only chunks and comments are held back."""
HOLD_BYTES = 1024 * 1024
"""Bytes of a stream that are held back at most before its first data event, as comments may go on for ever."""
FIRST_ERROR = 400
MOST_REFUSAL = 1024 * 1024
"""Bytes of a refusal that are read before it is judged; a longer one is relayed as it comes."""
MOST_BODY = 16 * 1024 * 1024
"""Bytes of an answer in JSON that are read; a longer one is no refusal."""
MOST_UNNAMED = 64 * 1024
"""Bytes of an answer that calls itself neither JSON nor a stream: so short, it may be a refusal all the same."""


EVENT_STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Lens:
    """
    What to look for: whether a retry is *plausible* (only then is a stream held past its first event), the *limits* an
    answer is held against, and the *patterns* of the route, which are searched for as long as the *patience* lasts.
    """

    plausible: bool = False
    limits: AnswerLimits = field(default_factory=AnswerLimits)
    patterns: Sequence[PatternRule] = ()
    patience: Patience | None = None


class Examined(NamedTuple):
    """
    The answer, still whole, and the fault in it, if it is one; *body* is there, decoded, where it was read to its end,
    and *seen* what it said of itself. *heads* are its headers by name, where they were looked at.
    """

    answer: Answer
    fault: Fault | None = None
    body: bytes | None = None
    seen: Seen | None = None
    heads: Heads | None = None


async def examine(answer: Answer, lens: Lens) -> Examined:
    """
    Return what the answer is; its bytes stay as they came, and it is closed where nobody gets it.
    """
    try:
        return await _examine(answer, lens)
    except BaseException:
        answer.close()
        raise


async def _examine(answer: Answer, lens: Lens) -> Examined:
    heads = by_name(answer.headers)
    decoder = decoder_of(heads)
    if answer.status >= FIRST_ERROR:
        body, whole = await _read(answer, decoder, most=MOST_REFUSAL)
        fault = guarded("classify", lambda: classify(answer.status, body, patterns=lens.patterns), otherwise=None)
        return Examined(answer, fault, body if whole else None)
    if not decoder.readable or answer.status != 200:
        return Examined(answer)
    kind = heads.get("content-type", "").lower()
    if kind.startswith(EVENT_STREAM):
        return await _peek(answer, decoder, lens)
    most = MOST_BODY if "json" in kind else _unnamed(heads)
    if not most:
        return Examined(answer)
    body, whole = await _read(answer, decoder, most=most)
    return _of_body(answer, heads, body, lens) if whole else Examined(answer)


def _of_body(answer: Answer, heads: Heads, body: bytes, lens: Lens) -> Examined:
    """
    Judge a whole answer, and note what it says of itself.
    """
    try:
        said = loads(body)
    except ValueError:
        return Examined(answer, None, body)
    fault = guarded(
        "judge", lambda: judge_answer(said, body, limits=lens.limits, patterns=lens.patterns), otherwise=None
    )
    return Examined(answer, fault, body, guarded("read", seen_in, said, otherwise=None), heads)


def _unnamed(heads: Heads) -> int:
    """
    Return how many bytes of an answer that is no JSON are read before it is relayed, 0 where it may be a stream.
    """
    stated = heads.get("content-length", "")
    return MOST_UNNAMED if stated.isdecimal() and len(stated) < 10 and int(stated) <= MOST_UNNAMED else 0


async def _read(answer: Answer, decoder: Decoder, *, most: int) -> tuple[bytes, bool]:
    """
    Read up to *most* bytes; return them decoded, and whether that was all. They are put back in front.
    """
    chunks = answer.chunks
    first = chunks.ready()
    size = len(first)
    read = [first] if first else []
    if size <= most and not chunks.ended:  # nearly always all of it came together with the headers
        async for chunk in chunks:
            read.append(chunk)
            size += len(chunk)
            if size > most:
                break
    raw = read[0] if len(read) == 1 else b"".join(read)
    whole = size <= most
    if whole:
        answer.close()
    answer.chunks = Prefixed((raw,) if raw else (), None if whole else chunks)
    return decoder.feed(raw), whole


async def _peek(answer: Answer, decoder: Decoder, lens: Lens) -> Examined:
    """
    Read a stream up to the first event that decides, and put what was read back in front.
    """
    chunks, read = answer.chunks, list[bytes]()
    fault = await _first_fault(chunks, decoder, lens, read)
    answer.chunks = Prefixed(read, chunks)
    return Examined(answer, fault)


async def _first_fault(chunks: ReadyChunks, decoder: Decoder, lens: Lens, read: list[bytes]) -> Fault | None:
    """
    Return the fault with which a stream begins, and add what is *read* of it.
    """
    splitter, until, seen_event = SseSplitter(), monotonic() + HOLD_SECONDS, False
    while True:
        try:
            chunk = await _next(chunks, until if seen_event else None)
        except StopAsyncIteration:
            return None if seen_event else judge_end()
        if chunk is None:
            return None
        read.append(chunk)
        for event in splitter.feed(decoder.feed(chunk)):
            verdict = _judged(event, lens)
            seen_event = seen_event or event.data is not None
            if _decides(verdict, lens, seen_event=seen_event):
                return _fault_of(verdict)
        if not decoder.readable or sum(map(len, read)) > HOLD_BYTES:
            return None


def _judged(event: SseEvent, lens: Lens) -> StreamVerdict:
    """
    Judge one event; what trips our own rules is content, which goes on to the client.
    """
    return guarded("judge", lambda: judge_event(event, patterns=lens.patterns), otherwise=StreamVerdict(Sign.CONTENT))


def _decides(verdict: StreamVerdict, lens: Lens, *, seen_event: bool) -> bool:
    if verdict.sign is not Sign.NOTHING:
        return True
    return seen_event and not lens.plausible


def _fault_of(verdict: StreamVerdict) -> Fault | None:
    return judge_end(saw_done=True) if verdict.sign is Sign.DONE else verdict.fault


async def _next(chunks: ReadyChunks, until: float | None) -> bytes | None:
    """
    Return the next chunk; ``None`` once the time for holding back is over.
    """
    if until is None:
        return await anext(chunks)
    try:
        return await asyncio.wait_for(anext(chunks), max(until - monotonic(), 0))
    except TimeoutError:
        return None
