"""
An answer as a value: status, headers, bytes, and how it ends.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum

from proxy.chat.json import dumps

JSON_TYPE = ("Content-Type", "application/json")
SSE_TYPE = ("Content-Type", "text/event-stream; charset=utf-8")

Headers = tuple[tuple[str, str], ...]


class Ending(Enum):
    """
    How an answer ends.
    """

    CLEAN = "clean"
    SILENT = "silent"  # no byte at all, the request stays unanswered
    HANG = "hang"  # what there is is sent, and nothing after it
    DROP = "drop"  # the connection is closed before the answer is complete
    RESET = "reset"  # the same with a TCP reset
    BAD_CHUNK = "bad_chunk"  # a chunk whose size line is no number
    HALF_CLOSED = "half_closed"  # the sending side is shut in the middle, the other stays open
    SHORT = "short"  # fewer bytes than Content-Length promises


@dataclass(frozen=True, slots=True)
class Reply:
    """
    One answer; *chunks* are sent one by one with chunked encoding, *body* whole with its length.
    """

    status: int = 200
    headers: Headers = (JSON_TYPE,)
    body: bytes = b""
    chunks: tuple[bytes, ...] | None = None
    ending: Ending = Ending.CLEAN
    close: bool = False
    pause_seconds: float = 0.0
    gate: asyncio.Event | None = None
    before: bytes = b""  # written to the connection in front of the answer, as it is
    hang_up: bool = False  # close the connection after a good answer, unannounced


def json_reply(value: object, *, status: int = 200, headers: Headers = (), close: bool = False) -> Reply:
    """
    Return *value* as a JSON answer.
    """
    return Reply(status=status, headers=(JSON_TYPE, *headers), body=dumps(value), close=close)


def sse_reply(chunks: tuple[bytes, ...], *, headers: Headers = ()) -> Reply:
    """
    Return *chunks* as an event stream.
    """
    return Reply(headers=(SSE_TYPE, ("Cache-Control", "no-cache"), *headers), chunks=chunks)
