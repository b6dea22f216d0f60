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


def watched(chunks: list[bytes], *, strip_usage: bool = False) -> tuple[Seen, bytes]:
    watcher = StreamWatcher(strip_usage=strip_usage, clock=lambda: 1.0)
    relayed = b"".join(watcher.feed(chunk) for chunk in chunks) + watcher.rest()
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


@pytest.mark.parametrize("ending", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 50, 77, 130, 250, 10_000])
def test_takes_out_the_usage_frame_however_it_is_cut(size: int, ending: bytes) -> None:
    """
    What is left are the other events, byte for byte, with whatever ends them and whatever was left unfinished.
    """
    events = [DELTA, b": a comment\n\n", DELTA, LAST, USAGE, DONE, b"data: unfinished"]
    kept, whole = (
        b"".join(event.replace(b"\n\n", ending) for event in events if event is not left_out)
        for left_out in (USAGE, b"")
    )
    seen, relayed = watched([whole[at : at + size] for at in range(0, len(whole), size)], strip_usage=True)

    assert relayed == kept
    assert (seen.complete, seen.finish_reason) == (True, "stop")
    assert seen.usage is not None


@pytest.mark.parametrize("size", [1, 7, 77, 10_000])
def test_a_fault_of_ours_loses_no_byte_and_doubles_none(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    While a frame is to be taken out, the beginning of an event is held back: what trips us is relayed like any other.
    """
    monkeypatch.setattr("proxy.pipeline.watching.judge_event", lambda *_: 1 / 0)
    whole = b"".join([DELTA, DELTA, LAST, DONE, b"data: unfinished"])
    _, relayed = watched([whole[at : at + size] for at in range(0, len(whole), size)], strip_usage=True)

    assert relayed == whole


@pytest.mark.parametrize("null", [b"null", b" null"])
def test_usage_that_is_null_in_every_chunk_hides_nothing(null: bytes) -> None:
    """
    Many servers write it so, until the last chunk tells.
    """
    delta = DELTA.replace(b"}\n", b',"usage":' + null + b"}\n")
    seen, relayed = watched([delta * 3, delta + USAGE, delta, LAST, DONE])

    assert seen.usage is not None
    assert (seen.usage.prompt, seen.finish_reason) == (7, "stop")
    assert relayed == delta * 4 + USAGE + delta + LAST + DONE


def test_a_chunk_that_only_ends_an_event_is_part_of_it() -> None:
    """
    The end of an event may hold nothing to note where its beginning did.
    """
    seen, _ = watched([LAST[:-30], LAST[-30:], DELTA])

    assert seen.finish_reason == "stop"


ROLE = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n'
CALL = b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a"}]}}]}\n\n'
THOUGHT = b'data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}\n\n'


@pytest.mark.parametrize("content", [DELTA, CALL, THOUGHT])
@pytest.mark.parametrize("strip_usage", [False, True])
def test_notes_when_the_first_content_came(content: bytes, strip_usage: bool) -> None:
    """
    Neither a comment nor a role is content; what follows the first changes nothing.
    """
    ticks = iter(range(1, 99))
    watcher = StreamWatcher(strip_usage=strip_usage, clock=lambda: next(ticks))
    for chunk in (b": waiting\n\n", ROLE, USAGE):
        watcher.feed(chunk)
    before = watcher.seen.spoke_at
    for chunk in (content[:30], content[30:], content, LAST, DONE):
        watcher.feed(chunk)

    assert (before, watcher.seen.spoke_at) == (None, 1)


def test_a_stream_without_content_never_speaks() -> None:
    """
    Refusals, and answers that end at once.
    """
    assert watched([ROLE, LAST, USAGE, DONE])[0].spoke_at is None
