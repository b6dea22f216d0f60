"""
Event streams, ordinary and odd, and the pieces that a network makes of them.
"""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from proxy.chat.json import dumps
from tests.property.strategies.values import json_values

ENDS = st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n"])
JSON = json_values()
ONE_LINE = st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"").replace(b"\r", b""))


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """
    Return one event: a chunk of an answer, usage, a comment, an error, or anything, in one line of data or several.
    """
    end = draw(ENDS)
    kind = draw(st.integers(0, 8))
    if kind == 0:
        text = draw(st.text(max_size=20) | st.sampled_from(["漢字", "👩‍👩‍👧", "é" * 30]))
        data = _chunk({"content": text})
    elif kind == 1:
        data = dumps({"choices": [], "usage": {"prompt_tokens": draw(st.integers(0, 10**6)), "completion_tokens": 1}})
    elif kind == 2:
        return b":" + draw(ONE_LINE) + end
    elif kind == 3:
        data = dumps({"error": draw(JSON)})
    elif kind == 4:
        choice = {"delta": draw(JSON), "finish_reason": draw(JSON), "index": draw(JSON), "text": draw(JSON)}
        data = dumps({"usage": draw(JSON), "choices": draw(st.one_of(JSON, st.just([choice])))})
    elif kind == 5:
        data = draw(ONE_LINE)
    elif kind == 6:
        return b"data: {" + _line(end) + b'data: "choices": []}' + end
    elif kind == 7:
        data = _chunk({"role": "assistant"})
    else:
        data = b"[DONE]"
    name = draw(st.sampled_from([b"", b"", b"event: error", b"event: ping", b"id: 7", b"retry: 10", b"data"]))
    return (name + _line(end) if name else b"") + draw(st.sampled_from([b"data: ", b"data:"])) + data + end


def _chunk(delta: dict[str, str]) -> bytes:
    return dumps({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]})


def _line(end: bytes) -> bytes:
    """
    Return the end of a line in a stream whose events end with *end*.
    """
    return b"\r\n" if end.startswith(b"\r\n") else end[:1]


def pieces(whole: bytes) -> st.SearchStrategy[list[bytes]]:
    """
    Return *whole* as the chunks that a network makes of it: cut anywhere, letters and line ends too.
    """
    cuts = st.lists(st.integers(0, len(whole)), max_size=8).map(sorted)
    cut = cuts.map(lambda at: [whole[start:end] for start, end in itertools.pairwise([0, *at, len(whole)])])
    return cut | st.just([whole[at : at + 1] for at in range(len(whole))])


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """
    Return a stream, perhaps cut short, and the same bytes as the chunks a network makes of it.
    """
    whole = b"".join(draw(st.lists(frames(), max_size=8)))
    whole = whole[: draw(st.integers(0, len(whole)))] if draw(st.booleans()) else whole
    return whole, draw(pieces(whole))
