"""
Read along while an answer is relayed: usage and finish reason, without changing a byte.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from proxy.chat.answers import Usage, finish_reason_of, is_usage_frame, usage_of
from proxy.chat.json import loads
from proxy.chat.sse import DONE, SseEvent, SseSplitter
from proxy.pipeline.guarded import guarded

_BLANK_LINES = (b"\n\n", b"\r\n\r\n")


@dataclass(slots=True)
class Seen:
    """
    What an answer said of itself; *complete* is set once it ended as it should.
    """

    usage: Usage | None = None
    finish_reason: str | None = None
    complete: bool = False


@dataclass(slots=True)
class StreamWatcher:
    """
    Watches server-sent events; takes out the one usage frame that we asked for, when told so.
    """

    strip_usage: bool = False
    seen: Seen = field(default_factory=Seen)
    _splitter: SseSplitter = field(default_factory=SseSplitter)

    def feed(self, chunk: bytes) -> bytes:
        """
        Return what of *chunk* is relayed: all of it, but for the usage frame we asked for.
        """
        if _tells_nothing(chunk) and self._splitter.idle:
            return chunk
        events = self._splitter.feed(chunk)
        if not self.strip_usage:
            for event in events:
                self._look(event)
            return chunk
        # Whole events only: a frame that may have to be taken out cannot be relayed in part.
        return b"".join(event.raw for event in events if not self._look(event))

    def rest(self) -> bytes:
        """
        Return what was held back of an event that never ended.
        """
        return self._splitter.rest if self.strip_usage else b""

    def _look(self, event: SseEvent) -> bool:
        """
        Note what the event says; return whether it is a frame that only carries usage.
        """
        if event.data is None:
            return False
        if event.data.strip() == DONE:
            self.seen.complete = True
            return False
        if b'"usage"' not in event.data and b'"finish_reason"' not in event.data:
            return False
        try:
            data = loads(event.data)
        except ValueError:
            return False
        guarded("watch", partial(self._note, data), otherwise=None)
        return self.strip_usage and is_usage_frame(data)

    def _note(self, data: object) -> None:
        self.seen.usage = usage_of(data) or self.seen.usage
        self.seen.finish_reason = finish_reason_of(data) or self.seen.finish_reason


def _tells_nothing(chunk: bytes) -> bool:
    """
    Tell whether a chunk is made of whole events, none of which has anything to note: most of a stream is of that kind.
    """
    return (
        chunk.endswith(_BLANK_LINES)
        and b'"usage"' not in chunk
        and DONE not in chunk
        and chunk.count(b'"finish_reason"') == chunk.count(b'"finish_reason":null')
    )


def seen_in(answer: object) -> Seen:
    """
    Return what a complete JSON *answer* says of itself.
    """
    return Seen(usage_of(answer), finish_reason_of(answer), complete=True)
