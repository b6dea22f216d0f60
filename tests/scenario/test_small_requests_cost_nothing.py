"""
Most requests are proved small by their bytes alone.
"""

from __future__ import annotations

from base64 import b64encode
from random import Random
from typing import Any

import pytest

from proxy.chat.json import loads
from proxy.tokens.vocabulary import Vocabulary
from tests.support.conversations import long_session

PICTURE = [
    {"type": "text", "text": "what is this?"},
    {"type": "image_url", "image_url": {"url": "https://pictures.test/1.png"}},
]


class Watched(Vocabulary):
    """
    Token tables that note every call.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def count(self, text: str) -> int:
        """
        Count, and note it.
        """
        self.calls += 1
        return super().count(text)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("rows", "counted"),
    [
        ([{"role": "user", "content": "hello"}], False),
        (long_session(5)[-1], False),
        (long_session(40)[-1], True),
        ([{"role": "user", "content": PICTURE}], True),
    ],
    ids=["a greeting", "a short session", "a long one", "a picture"],
)
async def test_a_request_below_the_bound_calls_no_tokenizer(
    upstream: Any, proxy_factory: Any, rows: Any, *, counted: bool, stream: bool
) -> None:
    """
    Neither before the answer nor after it; what bytes cannot bound is counted.
    """
    watched = Watched()
    proxied = await proxy_factory(
        upstream.url, vocabulary=watched, upstream={"context_window": 128_000, "discover": False}
    )

    reply = await proxied.chat(rows, stream=stream, stream_options={"include_usage": True})
    await proxied.proxy.core.tasks.settled()

    assert (reply.status, reply.action) == (200, "passthrough")
    assert (watched.calls > 0) is counted


async def test_a_session_that_goes_on_is_counted_now_and_then(upstream_factory: Any, proxy_factory: Any) -> None:
    """
    What was counted on an earlier turn and the bytes of what is new are a bound as well; turns of which no more has to be
    known go out as they came, and the first one at the threshold is the one that is found by counting every turn.
    """
    turns = long_session(40, 6_000, kind="chat")
    folded, counted = [], []
    for recent in ("64MiB", 0):
        upstream = await upstream_factory()
        proxied = await proxy_factory(
            upstream.url,
            upstream={"context_window": 128_000, "discover": False},
            limits={"recent_bodies": recent},
            compaction={
                "threshold_tokens": 40_000,
                "minimum_threshold_tokens": 1,
                "summarizer": {"kind": "extractive"},
            },
        )
        replies = [await proxied.chat(rows) for rows in turns]
        folded.append([reply.action for reply in replies].index("compacted"))
        counted.append(sum("x-concertina-tokens" in reply.headers for reply in replies))
        whole = [loads(call.body)["messages"] for call in upstream.main_calls[: folded[-1]]]
        assert whole == turns[: folded[-1]]

    assert folded[0] == folded[1]
    assert 0 < counted[0] < counted[1]


@pytest.mark.parametrize("window", [128_000, None])
async def test_bytes_below_the_threshold_are_enough_where_the_window_is_known(
    upstream: Any, proxy_factory: Any, window: int | None
) -> None:
    """
    An unknown one is held to be as large, and may be far smaller: from half of the threshold on requests are counted.
    """
    proxied = await proxy_factory(upstream.url, upstream={"context_window": window, "discover": False})

    reply = await proxied.chat(long_session(16)[-1])

    assert (reply.status, reply.action) == (200, "passthrough")
    assert ("x-concertina-tokens" in reply.headers) is (window is None)


@pytest.mark.parametrize("window", [128_000, None])
async def test_two_large_pictures_are_not_counted(upstream: Any, proxy_factory: Any, window: int | None) -> None:
    """
    Whether the window is known or not: even dear ones are less than half of the threshold.
    """
    proxied = await proxy_factory(upstream.url, upstream={"context_window": window, "discover": False})
    url = "data:image/png;base64," + b64encode(Random(1).randbytes(900_000)).decode()
    picture = {"type": "image_url", "image_url": {"url": url}}

    reply = await proxied.chat([{"role": "user", "content": [{"type": "text", "text": "look"}, picture, picture]}])

    assert (reply.status, reply.action) == (200, "passthrough")
    assert "x-concertina-tokens" not in reply.headers
