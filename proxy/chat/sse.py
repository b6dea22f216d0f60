"""
Server-sent events: split a byte stream into events without changing a byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from proxy.chat.json import dumps

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")
_LINE = re.compile(rb"\r\n|\n|\r")
_LONGEST_BLANK = 3
LONGEST_EVENT = 8 * 1024 * 1024
"""
Bytes of one event that are held to be looked at.
"""
DONE = b"[DONE]"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """
    One event: its *raw* bytes with the blank line that ends it, its *name*, and its *data* (``None``: a comment only).
    """

    raw: bytes
    name: str
    data: bytes | None


class SseSplitter:
    """
    Collects chunks and hands out whole events; concatenated raw bytes and the rest equal the input.

    An event larger than *longest* bytes is handed out in pieces, so that no stream can fill the memory; only the first
    piece has data then, which is no whole JSON.
    """

    def __init__(self, *, longest: int = LONGEST_EVENT) -> None:
        self._held = bytearray()
        self._longest = longest
        self._in_pieces = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """
        Add *chunk* and return the events it completes.
        """
        held = self._held
        searched = max(0, len(held) - _LONGEST_BLANK)
        held += chunk
        events: list[SseEvent] = []
        start = 0
        while match := _BLANK_LINE.search(held, max(start, searched)):
            events.append(self._event(bytes(held[start : match.end()])))
            self._in_pieces = False
            start = match.end()
        if len(held) - start > self._longest:
            # The last bytes may be the first of a blank line.
            end = len(held) - _LONGEST_BLANK
            events.append(self._event(bytes(held[start:end])))
            self._in_pieces = True
            start = end
        del held[:start]
        return events

    @property
    def idle(self) -> bool:
        """
        Whether no event is under way.
        """
        return not self._held and not self._in_pieces

    @property
    def rest(self) -> bytes:
        """
        The bytes of an event that is not complete yet.
        """
        return bytes(self._held)

    def _event(self, raw: bytes) -> SseEvent:
        return SseEvent(raw, "", None) if self._in_pieces else parse_event(raw)


def parse_event(raw: bytes) -> SseEvent:
    """
    Parse the lines of one event; multi-line data is joined by a newline.
    """
    name = ""
    data: list[bytes] = []
    for line in _LINE.split(raw):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
    return SseEvent(raw, name, b"\n".join(data) if data else None)


def data_event(value: object) -> bytes:
    """
    Return one ``data:`` event that carries *value* as JSON.
    """
    return b"data: " + dumps(value) + b"\n\n"


def comment(text: str) -> bytes:
    """
    Return a comment, which clients ignore and which keeps a line alive.
    """
    return b": " + text.encode() + b"\n\n"
