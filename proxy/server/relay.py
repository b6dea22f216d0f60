"""
An answer on its way to the client: chunk by chunk, at the client's pace, and never a clean end where there was none.
"""

from __future__ import annotations

from proxy.chat.sse import DONE
from proxy.errors import ProxyError, UpstreamError
from proxy.server.failures import broken_stream_event, error_event
from proxy.server.reply import Reply
from proxy.upstream.wire import Answer, header

_BLANK_LINES = (b"\n\n", b"\r\n\r\n", b"\r\r")


async def relay(answer: Answer, reply: Reply) -> bool:
    """
    Write *answer* to the client; whatever happens, nothing of it stays open.

    Returns whether the connection takes another request.
    """
    try:
        if reply.started:
            return await _into_stream(answer, reply)
        reply.head(answer.status, answer.reason, answer.headers)
        return await _body(answer, reply)
    finally:
        answer.close()


async def _body(answer: Answer, reply: Reply) -> bool:
    if reply.without_body:
        return reply.end()
    chunks = answer.chunks
    first = chunks.ready()
    if chunks.ended:
        return reply.end(first)
    reply.write(first)
    reply.flush()
    last = await _pump(answer, reply, first)
    return reply.end() if isinstance(last, bytes) else await _broken(answer, reply, last)


async def _pump(answer: Answer, reply: Reply, last: bytes) -> bytes | _Break:
    """
    Copy chunks as they come; return the last one, or how the upstream broke off.
    """
    flow = reply.flow
    try:
        async for chunk in answer.chunks:
            reply.write(chunk)
            if flow.paused:
                await flow.drain()
            last = chunk
    except UpstreamError as exc:
        return _Break(exc, last)
    return last


class _Break:
    """
    A stream that broke: why, and the last bytes before.
    """

    __slots__ = ("last", "why")

    def __init__(self, why: ProxyError, last: bytes) -> None:
        self.why = why
        self.last = last


async def _broken(answer: Answer, reply: Reply, broken: _Break) -> bool:
    # In a stream that is compressed or of a stated length an event of ours would be garbage.
    plain = header(answer.headers, "content-encoding") is None and header(answer.headers, "content-length") is None
    if answer.is_event_stream and plain:
        gap = b"" if not broken.last or broken.last.endswith(_BLANK_LINES) else b"\n\n"
        reply.write(gap + broken_stream_event(broken.why))
    return await reply.abort()


async def _into_stream(answer: Answer, reply: Reply) -> bool:
    """
    Continue the event stream that keeps the client waiting: status and headers are gone already.
    """
    if answer.status >= 400:
        return reply.end(error_event(answer.status, await answer.read()))
    if not answer.is_event_stream:
        body = (await answer.read()).replace(b"\r", b"").replace(b"\n", b" ")
        return reply.end(b"data: " + body + b"\n\ndata: " + DONE + b"\n\n")
    last = await _pump(answer, reply, b"")
    return reply.end() if isinstance(last, bytes) else await _broken(answer, reply, last)
