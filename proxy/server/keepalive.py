"""
Comments that keep a line alive while a streaming answer is being prepared.
"""

from __future__ import annotations

import asyncio
import re

from proxy.chat.sse import comment
from proxy.server.reply import Reply
from proxy.upstream.wire import Headers

STREAM_HEADERS: Headers = (
    ("content-type", "text/event-stream; charset=utf-8"),
    ("cache-control", "no-cache"),
    ("x-accel-buffering", "no"),
)
_COMMENT = comment("concertina")
_STREAM = b'"stream"'
_ASKS_STREAM = re.compile(rb'"stream"\s*:\s*true')


def asks_stream(body: bytes) -> bool:
    """
    Tell whether a request asks for a stream, without parsing it.
    """
    # Most clients put the flag at either end, so the messages between need not be searched.
    found = _ASKS_STREAM.search(body, 0, 512) or _ASKS_STREAM.search(body, max(0, len(body) - 512))
    if found:
        return True
    # A plain search is much faster than a pattern, which then begins where it can match at all.
    at = body.find(_STREAM)
    return at >= 0 and _ASKS_STREAM.search(body, at) is not None


class KeepAlive:
    """
    Starts an event stream when the answer takes longer than *after* seconds, then writes a comment every half of that.

    Whether *body* asks for a stream is found out when the time has come, since most answers come earlier. A timer, not a task: the one that waits for the answer stays the one that is cancelled when the client leaves.
    """

    def __init__(self, reply: Reply, body: bytes, *, after: float | None) -> None:
        self._reply = reply
        self._after = after
        self._body = body
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        if self._after:
            self._timer = self._reply.flow.loop.call_later(self._after, self._begin, self._after / 2)

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _begin(self, pause: float) -> None:
        if asks_stream(self._body):
            self._beat(pause)

    def _beat(self, pause: float) -> None:
        if not self._reply.started:
            self._reply.head(200, "OK", STREAM_HEADERS)
        try:
            self._reply.write(_COMMENT)
        except ConnectionResetError:
            return
        self._timer = self._reply.flow.loop.call_later(pause, self._beat, pause)
