"""
What upstreams send, for hypothesis: event streams and error bodies, ordinary and odd.
"""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from proxy.chat.json import dumps

ENDS = st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """
    Return one event: a chunk of an answer, usage, a comment, an error, or anything.
    """
    kind = draw(st.integers(0, 6))
    if kind == 0:
        choice = {"index": draw(st.integers(0, 2)), "delta": {"content": draw(st.text(max_size=20))}}
        data = dumps({"choices": [choice], "usage": None})
    elif kind == 1:
        data = dumps({"choices": [], "usage": {"prompt_tokens": draw(st.integers(0, 10**6)), "completion_tokens": 1}})
    elif kind == 2:
        return b": " + draw(st.binary(max_size=10)).replace(b"\n", b"").replace(b"\r", b"") + draw(ENDS)
    elif kind == 3:
        data = dumps({"error": draw(JSON)})
    elif kind == 4:
        data = dumps({"usage": draw(JSON), "choices": draw(JSON), "finish_reason": draw(JSON)})
    elif kind == 5:
        data = draw(st.binary(max_size=30)).replace(b"\n", b"").replace(b"\r", b"")
    else:
        data = b"[DONE]"
    name = draw(st.sampled_from([b"", b"event: error\n", b"event: ping\n", b"id: 7\n"]))
    return name + b"data: " + data + draw(ENDS)


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """
    Return a stream, perhaps cut short, and the same bytes as the chunks a network makes of it.
    """
    whole = b"".join(draw(st.lists(frames(), max_size=8)))
    whole = whole[: draw(st.integers(0, len(whole)))] if draw(st.booleans()) else whole
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    edges = [0, *cuts, len(whole)]
    return whole, [whole[start:end] for start, end in itertools.pairwise(edges)]
