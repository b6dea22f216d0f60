"""
Whatever an upstream streams: reading along never fails and never changes what is relayed.
"""

import json

from hypothesis import given, settings

from proxy.chat.answers import is_usage_frame
from proxy.chat.sse import SseSplitter
from proxy.errors import UpstreamBrokenError
from proxy.pipeline.examine import Lens, examine
from proxy.pipeline.watching import StreamWatcher
from proxy.server.failures import broken_stream_event, error_event
from proxy.upstream.wire import Answer, Prefixed
from tests.property.strategies import streams

HEADERS = (("content-type", "text/event-stream"),)


@settings(deadline=None)
@given(streams())
def test_what_is_watched_is_what_is_relayed(stream: tuple[bytes, list[bytes]]) -> None:
    """
    Byte for byte, for every cut of the network.
    """
    whole, chunks = stream
    watcher = StreamWatcher()

    assert b"".join(watcher.feed(chunk) for chunk in chunks) + watcher.rest() == whole


@settings(deadline=None)
@given(streams())
def test_only_frames_of_usage_are_ever_taken_out(stream: tuple[bytes, list[bytes]]) -> None:
    """
    Where the proxy asked for usage itself; all other events stay, in their order.
    """
    whole, chunks = stream
    watcher = StreamWatcher(strip_usage=True)
    relayed = b"".join(watcher.feed(chunk) for chunk in chunks) + watcher.rest()
    splitter = SseSplitter()
    kept = [event.raw for event in splitter.feed(whole) if not _only_usage(event.data)]

    assert relayed == b"".join(kept) + splitter.rest


@settings(deadline=None)
@given(streams())
async def test_a_peek_at_a_stream_loses_nothing(stream: tuple[bytes, list[bytes]]) -> None:
    """
    Held back and judged, whether a retry is plausible or not, it is whole again afterwards.
    """
    whole, chunks = stream

    for plausible in (False, True):
        examined = await examine(Answer(200, "OK", HEADERS, Prefixed(chunks)), Lens(plausible))
        assert b"".join([chunk async for chunk in examined.answer.chunks]) == whole


@settings(deadline=None)
@given(streams())
def test_any_error_body_becomes_one_event(stream: tuple[bytes, list[bytes]]) -> None:
    """
    Told in a stream whose status line is gone: one frame of JSON in OpenAI's shape.
    """
    for event in (error_event(500, stream[0]), broken_stream_event(UpstreamBrokenError("up", "it broke"))):
        (found,) = SseSplitter().feed(event)
        error = json.loads(found.data or b"")["error"]

        assert {"message", "type", "param", "code"} <= set(error)


def _only_usage(data: bytes | None) -> bool:
    if data is None or data.strip() == b"[DONE]" or (b'"usage"' not in data and b'"finish_reason"' not in data):
        return False
    try:
        return is_usage_frame(json.loads(data))
    except ValueError:
        return False
