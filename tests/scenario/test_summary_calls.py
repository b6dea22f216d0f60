"""
Calls for summaries travel as all other calls do: same authorities, same forward proxies, same patience.
"""

from typing import Any

import pytest

from proxy.chat.json import dumps, loads
from tests.support.conversations import chat_session
from tests.support.edge import RawUpstream, served_by
from tests.support.worlds import SUMMARY, texts

LONG = chat_session(13)


@pytest.mark.parametrize("no_proxy", ["fd00::/8", "10.0.0.0/8, [::1]", "*.corp:443,::1/128"])
async def test_any_no_proxy_lets_the_proxy_start_and_summarise(
    world_factory: Any, monkeypatch: pytest.MonkeyPatch, no_proxy: str
) -> None:
    """
    Networks in NO_PROXY, IPv6 ones too, which common HTTP clients stumble over.
    """
    monkeypatch.setenv("NO_PROXY", no_proxy)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    world = await world_factory()
    reply = await world.chat(LONG)

    assert (reply.status, reply.action, len(world.upstream.summary_calls)) == (200, "compacted", 1)
    assert SUMMARY in texts(world.sent)


async def test_a_summary_is_asked_of_an_upstream_whose_authority_is_configured(
    proxy_factory: Any, certificate: Any
) -> None:
    """
    ``ca_file`` counts for summaries as well; no call of ours is left to the system's authorities alone.
    """
    asked = []

    async def script(request, reader, writer):
        rows = loads(request.body)["messages"]
        asked.append(rows)
        text = "## Goal\nKeep the parser working; the tests in src/parser.py pass." if len(asked) == 1 else "done"
        message = {"role": "assistant", "content": text}
        body = dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
        writer.write(f"{head}{len(body)}\r\n\r\n".encode() + body)

    upstream = RawUpstream(script, served_by(*certificate))
    await upstream.start()
    proxied = await proxy_factory(
        f"https://localhost:{upstream.port}/v1",
        upstream={"ca_file": certificate[0], "discover": False, "context_window": 8_000},
        compaction={"threshold_tokens": 6_000, "prepare_at": None},
    )
    reply = await proxied.chat(LONG)
    await upstream.stop()

    assert (reply.status, reply.action, len(asked)) == (200, "compacted", 2)
    assert "Keep the parser working" in dumps(asked[1]).decode()
