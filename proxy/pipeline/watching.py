"""
Read along while an answer is relayed: usage and finish reason, without changing a byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from proxy.chat.answers import Usage, finish_reason_of, is_usage_frame, usage_of
from proxy.chat.json import loads
from proxy.chat.sse import DONE, SseEvent, SseSplitter
from proxy.pipeline.guarded import guarded
from proxy.recovery.peek import Sign, judge_event

_BLANK_LINES = (b"\n\n", b"\r\n\r\n")
_TOLD = re.compile(rb'"(?:usage|finish_reason)"(?!\s*+:\s*+null\b)')


@dataclass(slots=True)
class Seen:
    """
    What an answer said of itself; *complete* is set once it ended as it should, *spoke_at* when its first content came.
    """

    usage: Usage | None = None
    finish_reason: str | None = None
    complete: bool = False
    spoke_at: float | None = None


@dataclass(slots=True)
class StreamWatcher:
    """
    Watches server-sent events; takes out the one usage frame that we asked for, when told so.
    """

    strip_usage: bool = False
    clock: Callable[[], float] = monotonic
    seen: Seen = field(default_factory=Seen)
    _splitter: SseSplitter = field(default_factory=SseSplitter)

    def feed(self, chunk: bytes) -> bytes:
        """
        Return what of *chunk* is relayed: all of it, but for the usage frame we asked for.
        """
        if self.seen.spoke_at is None:
            kept = self._looked(chunk)
        elif self._splitter.idle and chunk.endswith(_BLANK_LINES) and _tells_nothing(chunk):
            return chunk
        else:
            kept = b"".join([self._part(part) for part in self._parts(chunk)])
        return kept if self.strip_usage else chunk

    def rest(self) -> bytes:
        """
        Return what was held back of an event that never ended.
        """
        return self._splitter.rest if self.strip_usage else b""

    def _parts(self, chunk: bytes) -> list[bytes]:
        """
        Cut a chunk into what ends the event under way, whole events, and the beginning of another one.
        """
        blanks = [blank for blank in _BLANK_LINES if blank in chunk]
        if not blanks:
            return [chunk]
        begin = 0 if self._splitter.idle else min(chunk.find(blank) + len(blank) for blank in blanks)
        end = max(chunk.rfind(blank) + len(blank) for blank in blanks)
        return [part for part in (chunk[:begin], chunk[begin:end], chunk[end:]) if part]

    def _part(self, part: bytes) -> bytes:
        """
        Return what of a part is relayed: whole events only, since a frame that is taken out cannot be sent in part.
        """
        if self._splitter.idle and part.endswith(_BLANK_LINES) and _tells_nothing(part):
            return part
        return self._looked(part)

    def _looked(self, part: bytes) -> bytes:
        events = self._splitter.feed(part)
        return b"".join([event.raw for event in events if not guarded("watch", self._look, event, otherwise=False)])

    def _look(self, event: SseEvent) -> bool:
        """
        Note what the event says; return whether it is a frame that only carries usage.
        """
        if event.data is None:
            return False
        if self.seen.spoke_at is None and judge_event(event).sign is Sign.CONTENT:
            self.seen.spoke_at = self.clock()
        if event.data.strip() == DONE:
            self.seen.complete = True
            return False
        if b'"usage"' not in event.data and b'"finish_reason"' not in event.data:
            return False
        try:
            data = loads(event.data)
        except ValueError:
            return False
        self._note(data)
        return self.strip_usage and is_usage_frame(data)

    def _note(self, data: object) -> None:
        self.seen.usage = usage_of(data) or self.seen.usage
        self.seen.finish_reason = finish_reason_of(data) or self.seen.finish_reason


def _tells_nothing(chunk: bytes) -> bool:
    """
    Tell whether whole events have nothing to note, none of them: most of a stream is of that kind.
    """
    if DONE in chunk:
        return False
    reasons, usages = chunk.count(b'"finish_reason"'), chunk.count(b'"usage"')
    if reasons == chunk.count(b'"finish_reason":null') and usages == (usages and chunk.count(b'"usage":null')):
        return True
    return _TOLD.search(chunk) is None


def seen_in(answer: object) -> Seen:
    """
    Return what a complete JSON *answer* says of itself.
    """
    return Seen(usage_of(answer), finish_reason_of(answer), complete=True)
