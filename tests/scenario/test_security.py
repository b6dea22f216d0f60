"""
What attackers and accidents try: whatever is secret stays where it belongs, whatever is large stays bounded.
"""

from __future__ import annotations

import gc
import zlib
from typing import Any

import pytest
import structlog

from proxy.chat.json import dumps
from proxy.pipeline.decoding import MOST_DECODED, decoder_of
from proxy.pipeline.planner import Planner
from proxy.telemetry.logs import where
from tests.support.conversations import chat_session, system, user
from tests.support.edge import CHAT, RawUpstream, plain, world
from tests.support.whole import whole

KEY = "sk-planted-4f1e7a90c2"
UPSTREAM_KEY = "sk-lent-99de41f0aa"
QUERY_KEY = "qk-planted-0b1c2d3e4f"
MADE_UP = 10_200
TEXT = "PLANTEDTEXT"
SECRETS = [KEY, UPSTREAM_KEY, QUERY_KEY, TEXT]


async def test_cookies_of_one_client_never_reach_another():
    """
    What an upstream sets is passed to the client that asked, and kept by nobody.
    """
    async with world(plain(headers=b"Set-Cookie: session=secret; Path=/\r\n")) as w:
        first = await w.ask("GET", "/v1/models")
        await w.ask("GET", "/v1/models")

        assert first.header("set-cookie") == "session=secret; Path=/"
        assert w.upstream.received[1].header("cookie") is None


async def test_a_redirect_takes_no_credential_elsewhere():
    """
    An upstream that points to another host gets nothing sent there: following is the client's affair.
    """
    async with world() as elsewhere:
        location = f"Location: http://127.0.0.1:{elsewhere.upstream.port}/steal\r\n".encode()
        async with world(plain(status="307 Temporary Redirect", headers=location)) as w:
            answer = await w.ask("POST", CHAT, headers=b"Authorization: Bearer k\r\n", body=b"{}")

            assert (answer.status, elsewhere.upstream.received) == (307, [])


async def test_a_clients_credential_never_reaches_the_summarisers_own_upstream(proxy_factory: Any) -> None:
    """
    Another upstream for summaries gets its own key, no header of the client's and nothing of its query.
    """
    body = dumps(
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": "## Goal\nKeep the parser working."}}]}
    )
    writer = RawUpstream(plain(body, headers=b"Content-Type: application/json\r\n"))
    await writer.start()
    settings = {
        "upstreams": {
            "sim": {"base_url": "http://replaced", "context_window": 8_000},
            "writer": {"base_url": f"http://127.0.0.1:{writer.port}/v1", "api_keys": [UPSTREAM_KEY]},
        },
        "compaction": {
            "threshold_tokens": 6_000,
            "prepare_at": None,
            "summarizer": {"upstream": "writer", "model": "s"},
        },
    }
    main = RawUpstream(plain())
    await main.start()
    settings["upstreams"]["sim"]["base_url"] = f"http://127.0.0.1:{main.port}/v1"
    proxied = await proxy_factory("http://unused", **settings)
    headers = {"authorization": f"Bearer {KEY}", "x-team": TEXT, "cookie": "a=b"}
    reply = await proxied.post(
        {"model": "m", "messages": chat_session(13)}, headers=headers, path=f"/chat/completions?key={QUERY_KEY}"
    )
    await writer.stop()
    await main.stop()

    assert reply.action == "compacted"
    calls = [one for one in writer.received if one.target.endswith("/chat/completions")]
    assert len(calls) == 1
    assert calls[0].header("authorization") == f"Bearer {UPSTREAM_KEY}"
    assert not any(secret.encode() in calls[0].head for secret in (KEY, TEXT, QUERY_KEY, "cookie"))


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_compressed_bomb_is_decoded_in_part_only(coding: str) -> None:
    """
    Sixty-four megabytes in sixty-four kilobytes: a look costs a few megabytes at most.
    """
    packer = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
    bomb = b"".join([*(packer.compress(bytes(2**20)) for _ in range(64)), packer.flush()])
    decoder = decoder_of({"content-encoding": coding})
    pieces = [decoder.feed(bomb[start : start + 65_536]) for start in range(0, len(bomb), 65_536)]

    assert sum(map(len, pieces)) <= MOST_DECODED
    assert not decoder.readable


async def test_a_bomb_passes_as_it_came(proxy_factory: Any) -> None:
    """
    The client, who asked for it, gets the bytes.
    """
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join([*(packer.compress(bytes(2**20)) for _ in range(100)), packer.flush()])
    headers = b"Content-Type: application/json\r\nContent-Encoding: gzip\r\n"
    async with whole(proxy_factory, plain(bomb, headers=headers)) as w:
        answer = await w.post(b'{"model":"m","messages":[{"role":"user","content":"x"}]}')

        assert answer.body == bomb


@pytest.mark.slow
async def test_names_of_models_fill_no_memory(proxy_factory: Any) -> None:
    """
    A client that makes up a model for every request finds tables that are bounded, wherever they are.
    """
    answer = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"x"}}],"usage":{"prompt_tokens":9}}'
    async with whole(proxy_factory, plain(answer, headers=b"Content-Type: application/json\r\n")) as w:
        client = await w.client()
        for number in range(MADE_UP):
            body = dumps({"model": f"made-up-{number}", "messages": [{"role": "user", "content": "x" * 400}]})
            assert (await client.ask("POST", CHAT, body=body)).status == 200
        await w.proxied.proxy.core.tasks.settled()
        gc.collect()
        tables = [one for one in gc.get_objects() if isinstance(one, dict) and len(one) > 10_050]
        grown = [next(iter(table)) for table in tables if any("made-up" in text for text in key_texts(table))]

    assert grown == []


def key_texts(table: dict[Any, Any]) -> list[str]:
    """
    Return the texts in the newest keys of a table.
    """
    parts = [part for key in list(table)[-9:] for part in (key if isinstance(key, tuple) else (key,))]
    return [part for part in parts if isinstance(part, str)]


async def test_a_name_that_is_no_models_is_remembered_nowhere(world_factory: Any) -> None:
    """
    Bounded tables of unbounded names would fill the memory all the same; the request passes as it came.
    """
    w = await world_factory(sim={"strict": False})
    name = "made-up" * 2_000
    body = dumps({"model": name, "messages": chat_session(13)})
    reply = await w.post(body)
    await w.proxied.proxy.core.tasks.settled()
    tables = [one for one in gc.get_objects() if isinstance(one, dict)]
    held = [list(table)[-1] for table in tables if any(name in text for text in key_texts(table))]

    assert (reply.action, w.upstream.received[0].body) == ("passthrough", body)
    assert held == []


async def test_a_fault_whose_message_quotes_the_request_is_told_without_it(
    world_factory: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Exceptions carry values; the log tells the kind and the place of a fault alone.
    """

    async def burst(*_: Any) -> None:
        raise ValueError(f"cannot use {TEXT} of {KEY}")

    structlog.configure(
        processors=[structlog.processors.add_log_level, where, structlog.processors.JSONRenderer()],
        logger_factory=structlog.PrintLoggerFactory(),
    )
    world = await world_factory()
    monkeypatch.setattr(Planner, "plan", burst)
    reply = await world.chat([system(), user(TEXT)], headers={"authorization": f"Bearer {KEY}"})
    told = capsys.readouterr().out

    assert (reply.status, reply.action) == (200, "failed-open")
    assert "plan.failed" in told
    assert not any(secret in told for secret in SECRETS)
