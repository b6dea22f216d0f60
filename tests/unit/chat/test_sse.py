from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.chat.sse import DONE, SseSplitter, comment, data_event, parse_event

STREAM = (
    b": hello\n\n"
    b'data: {"a": 1}\n\n'
    b"event: error\r\ndata: x\r\ndata:  y\r\n\r\n"
    b"data\n\n"
    b"id: 7\rdata:z\r\r"
    b"data: w\n\r\n"
    b"data: v\r\n\n"
    b"data: [DONE]\n\n"
)
DATA = [None, b'{"a": 1}', b"x\n y", b"", b"z", b"w", b"v", DONE]


def test_splits_a_stream_into_events() -> None:
    """
    With every line ending that the standard allows.
    """
    splitter = SseSplitter()
    events = splitter.feed(STREAM)

    assert [event.data for event in events] == DATA
    assert [event.name for event in events if event.name] == ["error"]
    assert splitter.rest == b""


def test_keeps_an_event_that_is_not_complete() -> None:
    """
    An upstream that dies leaves half a line behind.
    """
    splitter = SseSplitter()

    assert splitter.feed(b"data: a\n\ndata: b")[0].data == b"a"
    assert splitter.rest == b"data: b"


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_an_event_is_handed_out_with_its_last_byte(size: int) -> None:
    """
    Neither later, which would hold an answer back, nor in halves.
    """
    splitter = SseSplitter()
    event = b"data: abc\n\n"
    chunks = [event[i : i + size] for i in range(0, len(event), size)]

    assert [len(splitter.feed(chunk)) for chunk in chunks] == [0] * (len(chunks) - 1) + [1]


@settings(deadline=None)
@given(st.lists(st.integers(0, len(STREAM)), max_size=20).map(sorted))
def test_chunk_boundaries_change_no_byte(cuts: list[int]) -> None:
    """
    Raw bytes and the rest are the input, wherever the network cut it.
    """
    splitter = SseSplitter()
    edges = [0, *cuts, len(STREAM)]
    events = [event for a, b in pairwise(edges) for event in splitter.feed(STREAM[a:b])]

    assert b"".join(event.raw for event in events) + splitter.rest == STREAM


@settings(deadline=None)
@given(st.lists(st.integers(0, len(STREAM)), max_size=20).map(sorted))
def test_chunk_boundaries_change_no_data(cuts: list[int]) -> None:
    """
    A carriage return and its line feed may come apart; no event is lost or doubled by it.
    """
    splitter = SseSplitter()
    edges = [0, *cuts, len(STREAM)]
    events = [event for a, b in pairwise(edges) for event in splitter.feed(STREAM[a:b])]

    assert [event.data for event in events if event.data is not None] == [data for data in DATA if data is not None]


@settings(deadline=None)
@given(st.lists(st.binary(max_size=30), max_size=10))
def test_any_bytes_come_out_as_they_went_in(chunks: list[bytes]) -> None:
    """
    Not everything that calls itself a stream is one.
    """
    splitter = SseSplitter()
    events = [event for chunk in chunks for event in splitter.feed(chunk)]

    assert b"".join(event.raw for event in events) + splitter.rest == b"".join(chunks)


def test_a_name_that_is_no_utf8_is_no_fault() -> None:
    """
    It is shown with replacement letters.
    """
    assert parse_event(b"event: \xff\n\n").name == "\ufffd"


def test_writes_events_that_it_reads() -> None:
    """
    Data as compact JSON, comments without data.
    """
    assert parse_event(data_event({"a": 1})).data == b'{"a":1}'
    assert parse_event(comment("concertina")).data is None
    assert comment("concertina") == b": concertina\n\n"


def test_an_event_that_is_too_long_is_handed_out_in_pieces() -> None:
    """
    No byte is lost or held beyond the limit; the next event is a whole one again.
    """
    splitter = SseSplitter(longest=100)
    stream = b"data: " + b"x" * 1_000 + b"\n\ndata: next\n\n"
    events = [event for start in range(0, len(stream), 7) for event in splitter.feed(stream[start : start + 7])]

    assert b"".join(event.raw for event in events) == stream
    assert max(len(event.raw) for event in events) <= 110
    assert [event.data for event in events if event.data] == [events[0].data, b"next"]


@settings(deadline=None)
@given(st.lists(st.integers(0, len(STREAM)), max_size=20).map(sorted), st.integers(4, 30))
def test_pieces_change_no_byte(cuts: list[int], longest: int) -> None:
    """
    Wherever the network cut the stream, and however small the limit is.
    """
    splitter = SseSplitter(longest=longest)
    raw = b"".join(
        event.raw for start, end in pairwise([0, *cuts, len(STREAM)]) for event in splitter.feed(STREAM[start:end])
    )

    assert raw + splitter.rest == STREAM
