"""
Usage in streams: asked for where the client did not, and taken out again.
"""

from __future__ import annotations

import re
from typing import Any

from proxy.simulator.steps import answer, overflow, repeat, status
from tests.support.conversations import long_session

REFUSAL = (
    b'{"error":{"message":"Unrecognized request argument supplied: stream_options","type":"invalid_request_error"}}'
)
ROWS = long_session(14)[-1]


async def behind(proxy_factory: Any, upstream: Any, **compaction: Any) -> Any:
    """
    Return a proxy with an 8,000-token window that needs no model to compact.
    """
    return await proxy_factory(
        upstream.url,
        upstream={"context_window": 8_000, "discover": False},
        compaction={
            "threshold_tokens": 6_000,
            "prepare_at": None,
            "summarizer": {"kind": "extractive"},
            **compaction,
        },
    )


async def test_asks_with_a_compacted_stream_and_keeps_the_frame_to_itself(upstream: Any, proxy_factory: Any) -> None:
    """
    The upstream is asked; the client sees a stream without the frame it never wanted.
    """
    proxied = await behind(proxy_factory, upstream)

    reply = await proxied.chat(ROWS, stream=True)

    assert reply.action == "compacted"
    assert upstream.main_calls[-1].fields["stream_options"] == {"include_usage": True}
    assert b'"usage":{' not in reply.body.replace(b" ", b"")
    assert reply.body.rstrip().endswith(b"data: [DONE]")


async def test_leaves_the_clients_own_word_alone(upstream: Any, proxy_factory: Any) -> None:
    """
    An explicit no stays a no, and an explicit yes gets its frame.
    """
    proxied = await behind(proxy_factory, upstream)

    refused = await proxied.chat(ROWS, stream=True, stream_options={"include_usage": False})
    wanted = await proxied.chat(ROWS, stream=True, stream_options={"include_usage": True})

    asked = [call.fields["stream_options"]["include_usage"] for call in upstream.main_calls]
    assert asked == [False, True]
    assert b'"usage":{' not in refused.body.replace(b" ", b"")
    assert b'"usage":{' in wanted.body.replace(b" ", b"")


async def test_never_asks_a_server_again_that_refused(upstream: Any, proxy_factory: Any) -> None:
    """
    A server that does not know the field gets the request once more without it, and never with it again.
    """
    proxied = await behind(proxy_factory, upstream)
    upstream.will(status(400, body=REFUSAL))

    first = await proxied.chat(ROWS, stream=True)
    again = await proxied.chat(ROWS, stream=True)

    assert (first.status, again.status) == (200, 200)
    assert ["stream_options" in call.fields for call in upstream.main_calls] == [True, False, False]


async def test_four_calls_are_the_most_whatever_they_were_for(upstream: Any, proxy_factory: Any) -> None:
    """
    The call that found out about the field counts: the ladder has three left.
    """
    proxied = await behind(proxy_factory, upstream)
    upstream.will(status(400, body=REFUSAL), repeat(9, overflow(limit=2_000)))

    reply = await proxied.chat(ROWS, stream=True)

    assert reply.status == 400
    assert len(upstream.main_calls) <= 4


def client_bytes() -> bytes:
    return b'{"model": "sim-model",  "stream":true, "messages":[{"role":"user","content":"h\\u00e9llo"}], "x": 1.0}'


async def test_asks_with_every_stream_where_it_may(upstream: Any, proxy_factory: Any) -> None:
    """
    The client's stream is what it had been without our wish, but for the nulls that servers then put into other chunks.
    """
    silent = await behind(proxy_factory, upstream, ask_usage="never")
    asking = await behind(proxy_factory, upstream, ask_usage="always")
    upstream.will(answer("the same"), answer("the same"))

    plain = await silent.post(client_bytes())
    asked = await asking.post(client_bytes())

    sent = [call.fields.get("stream_options") for call in upstream.main_calls]
    assert sent == [None, {"include_usage": True}]
    assert without_ids(asked.body).replace(b',"usage":null', b"") == without_ids(plain.body)


async def test_an_untouched_request_is_its_own_bytes_again_where_the_field_is_refused(
    upstream: Any, proxy_factory: Any
) -> None:
    """
    Our wish was the only change; without it nothing is changed.
    """
    proxied = await behind(proxy_factory, upstream, ask_usage="always")
    upstream.will(status(400, body=REFUSAL))

    replies = [await proxied.post(client_bytes()) for _ in range(2)]

    assert [reply.status for reply in replies] == [200, 200]
    assert [call.body for call in upstream.main_calls[1:]] == [client_bytes()] * 2


async def test_a_refusal_of_the_field_outlives_the_process(upstream: Any, proxy_factory: Any, tmp_path: Any) -> None:
    """
    A server is asked once for what it does not know, not once in every process.
    """
    store = {"url": f"sqlite:///{tmp_path / 'state.db'}", "secret": "s" * 32}
    upstream.will(status(400, body=REFUSAL))
    for _ in range(2):
        proxied = await proxy_factory(
            upstream.url,
            upstream={"context_window": 8_000, "discover": False},
            compaction={"ask_usage": "always"},
            store=store,
        )
        assert (await proxied.post(client_bytes())).status == 200
        await proxied.proxy.core.tasks.settled()

    assert ["stream_options" in call.fields for call in upstream.main_calls] == [True, False, False]


def without_ids(body: bytes) -> bytes:
    """
    Return a stream without the simulator's running number.
    """
    return re.sub(rb'"id":"[^"]*"', b'"id":""', body)
