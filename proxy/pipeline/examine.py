"""
Look at an answer before anything of it is relayed: it may be a refusal in some dress.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from proxy.chat.sse import SseEvent, SseSplitter
from proxy.pipeline.decoding import Decoder
from proxy.pipeline.guarded import guarded
from proxy.recovery.classify import classify
from proxy.recovery.fault import Fault
from proxy.recovery.peek import AnswerLimits, Sign, StreamVerdict, judge_body, judge_end, judge_event
from proxy.recovery.settings import PatternRule
from proxy.upstream.wire import Answer, Prefixed, header

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


@dataclass(frozen=True, slots=True)
class Lens:
    """
    What to look for: whether a retry is *plausible* (only then is a stream held past its first event), the *limits* an
    answer is held against, and the *patterns* of the route.
    """

    plausible: bool = False
    limits: AnswerLimits = field(default_factory=AnswerLimits)
    patterns: Sequence[PatternRule] = ()


@dataclass(frozen=True, slots=True)
class Examined:
    """
    The answer, still whole, and the fault in it, if it is one; *body* is there, decoded, where it was read to its end.
    """

    answer: Answer
    fault: Fault | None = None
    body: bytes | None = None


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
    decoder = Decoder(answer.headers)
    if answer.status >= FIRST_ERROR:
        body, seen = await _read(answer, decoder, most=MOST_REFUSAL)
        fault = guarded("classify", lambda: classify(answer.status, body, patterns=lens.patterns), otherwise=None)
        return replace(seen, fault=fault)
    if not decoder.readable or answer.status != 200:
        return Examined(answer)
    if answer.is_event_stream:
        return await _peek(answer, decoder, lens)
    most = _worth_reading(answer)
    if not most:
        return Examined(answer)
    body, seen = await _read(answer, decoder, most=most)
    if seen.body is None:
        return seen
    fault = guarded("judge", lambda: judge_body(body, limits=lens.limits, patterns=lens.patterns), otherwise=None)
    return replace(seen, fault=fault)


def _worth_reading(answer: Answer) -> int:
    """
    Return how many bytes of an answer are read before it is relayed, 0 where it may be a stream of another kind.
    """
    if "json" in (header(answer.headers, "content-type") or "").lower():
        return MOST_BODY
    stated = header(answer.headers, "content-length") or ""
    return MOST_UNNAMED if stated.isdecimal() and len(stated) < 10 and int(stated) <= MOST_UNNAMED else 0


async def _read(answer: Answer, decoder: Decoder, *, most: int) -> tuple[bytes, Examined]:
    """
    Read up to *most* bytes, and return them decoded; what came back is a body only where that was all.
    """
    read, size = list[bytes](), 0
    async for chunk in answer.chunks:
        read.append(chunk)
        size += len(chunk)
        if size > most:
            body = decoder.feed(b"".join(read))
            return body, Examined(_replayed(answer, read, answer))
    answer.close()
    raw = b"".join(read)
    body = decoder.feed(raw)
    whole = Answer(answer.status, answer.reason, answer.headers, Prefixed((raw,) if raw else ()))
    return body, Examined(whole, None, body)


async def _peek(answer: Answer, decoder: Decoder, lens: Lens) -> Examined:
    """
    Read a stream up to the first event that decides, and put what was read back in front.
    """
    splitter, read, until = SseSplitter(), list[bytes](), monotonic() + HOLD_SECONDS
    held = Answer(answer.status, answer.reason, answer.headers, Prefixed(read), close=answer.close)
    seen_event = False
    while True:
        try:
            chunk = await _next(answer, until if seen_event else None)
        except StopAsyncIteration:
            return Examined(_replayed(held, read, None), None if seen_event else judge_end())
        if chunk is None:
            return Examined(_replayed(held, read, answer))
        read.append(chunk)
        for event in splitter.feed(decoder.feed(chunk)):
            verdict = _judged(event, lens)
            seen_event = seen_event or event.data is not None
            if _decides(verdict, lens, seen_event=seen_event):
                return Examined(_replayed(held, read, answer), _fault_of(verdict))
        if not decoder.readable or sum(map(len, read)) > HOLD_BYTES:
            return Examined(_replayed(held, read, answer))


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


async def _next(answer: Answer, until: float | None) -> bytes | None:
    """
    Return the next chunk; ``None`` once the time for holding back is over.
    """
    if until is None:
        return await anext(answer.chunks)
    try:
        return await asyncio.wait_for(anext(answer.chunks), max(until - monotonic(), 0))
    except TimeoutError:
        return None


def _replayed(held: Answer, read: list[bytes], rest: Answer | None) -> Answer:
    chunks = Prefixed(read, rest.chunks if rest else None)
    return Answer(held.status, held.reason, held.headers, chunks, close=held.close)
