"""
Server-sent events: split a byte stream into events without changing a byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from proxy.chat.json import dumps

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")
_LINE = re.compile(rb"\r\n|\n|\r")
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
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """
        Add *chunk* and return the events it completes.
        """
        searched = max(0, len(self._rest) - 3)
        buffer = self._rest + chunk
        events: list[SseEvent] = []
        start = 0
        while match := _BLANK_LINE.search(buffer, max(start, searched)):
            events.append(parse_event(buffer[start : match.end()]))
            start = searched = match.end()
        self._rest = buffer[start:]
        return events

    @property
    def rest(self) -> bytes:
        """
        The bytes of an event that is not complete yet.
        """
        return self._rest


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
