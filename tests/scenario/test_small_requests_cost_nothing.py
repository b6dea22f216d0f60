"""
Most requests are proved small by their bytes alone.
"""

from __future__ import annotations

from typing import Any

import pytest

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
