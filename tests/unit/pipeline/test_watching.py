"""
A stream that is read along tells the same whether its chunks are whole events or not.
"""

import pytest

from proxy.pipeline.watching import Seen, StreamWatcher

DELTA = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
LAST = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
SPACED = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}\n\n'
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}\n\n'
DONE = b"data: [DONE]\n\n"


def watched(chunks: list[bytes]) -> tuple[Seen, bytes]:
    watcher = StreamWatcher()
    relayed = b"".join(watcher.feed(chunk) for chunk in chunks)
    return watcher.seen, relayed


@pytest.mark.parametrize("last", [LAST, SPACED, DELTA + LAST, LAST + DELTA])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_tells_the_same_however_it_is_cut(last: bytes, size: int) -> None:
    """
    Chunks of whole events are passed over where nothing is in them; what matters is found all the same.
    """
    events = [DELTA, DELTA * 2, last, USAGE, DONE]
    whole = b"".join(events)
    cut = [whole[start : start + size] for start in range(0, len(whole), size)]
    by_event, relayed = watched(events)
    by_size, _ = watched(cut)

    assert relayed == whole
    assert by_event == by_size
    assert by_event.complete
    assert by_event.finish_reason == ("length" if last == SPACED else "stop")
    assert by_event.usage is not None
    assert by_event.usage.prompt == 7


def test_a_chunk_that_only_ends_an_event_is_part_of_it() -> None:
    """
    The end of an event may hold nothing to note where its beginning did.
    """
    seen, _ = watched([LAST[:-30], LAST[-30:], DELTA])

    assert seen.finish_reason == "stop"
