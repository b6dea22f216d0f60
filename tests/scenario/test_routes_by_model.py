"""
Routes told apart by model hold for every endpoint, not for chat alone.
"""

from typing import Any

import pytest

from proxy.pipeline.passing import LOOK_BYTES


def posted(upstream: Any) -> list[bytes]:
    """
    Return the bodies that reached *upstream*, without what discovery asks.
    """
    return [call.body for call in upstream.received if call.method == "POST"]


@pytest.fixture
async def two(upstream_factory: Any, proxy_factory: Any) -> Any:
    """
    Return a proxy that sends models called qwen to a second upstream.
    """
    first, second = await upstream_factory(), await upstream_factory()
    proxied = await proxy_factory(
        first.url,
        upstreams={"first": {"base_url": first.url}, "second": {"base_url": second.url}},
        routes=[{"name": "second", "match": {"model": "qwen*"}, "upstream": "second"}],
    )
    return proxied, first, second


async def test_an_embedding_goes_where_its_model_is(two: Any) -> None:
    """
    The body is looked into, and reaches the upstream as it came.
    """
    proxied, first, second = two

    reply = await proxied.post(b'{ "model":"qwen-embed",  "input":"x"}', path="/embeddings")

    assert reply.status != 502
    assert posted(second) == [b'{ "model":"qwen-embed",  "input":"x"}']
    assert posted(first) == []


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"model":"qwen-embed","input":"' + b"x" * LOOK_BYTES + b'"}', "application/json"),
        (b'{"model":"qwen-embed"}', "text/plain"),
        (b"qwen", "application/json"),
    ],
)
async def test_what_is_too_large_or_no_json_goes_where_no_model_goes(two: Any, body: bytes, kind: str) -> None:
    """
    It is not held in memory, and not one byte of it is lost.
    """
    proxied, first, second = two

    await proxied.post(body, path="/embeddings", headers={"content-type": kind})

    assert posted(first) == [body]
    assert posted(second) == []
