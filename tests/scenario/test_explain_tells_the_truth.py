"""
What ``concertina explain`` writes is what the proxy sends: both plan with the same code.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proxy.config.settings import AppSettings
from proxy.pipeline.explain import Explanation
from proxy.upstream.wire import Incoming
from tests.support.conversations import agent_session, chat_session, request, system, tool_schema, user
from tests.support.proxied import ProxyFactory

WINDOW = 8_192
CASES = {
    "agent": request(agent_session(40)),
    "chat": request(chat_session(24), stream=True),
    "tools": request(agent_session(30), tools=[tool_schema()], max_tokens=500, odd={"kept": [1, 2.50]}),
    "small": request([system(), user("hello")]),
    "long agent": request(agent_session(90, bytes_per_round=3_000)),
}


async def sent_by_the_proxy(proxy_factory: ProxyFactory, upstream_factory: Any, body: bytes) -> tuple[bytes, Any]:
    """
    Return the bytes that reached the upstream, and the reply.
    """
    upstream = await upstream_factory(window=WINDOW * 2)
    proxied = await proxy_factory(
        upstream.url,
        upstream={"context_window": WINDOW, "discover": False},
        compaction={"summarizer": {"kind": "extractive"}, "prepare_at": None},
    )
    reply = await proxied.post(body)
    return upstream.main_calls[-1].body, reply


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
async def test_the_output_is_what_the_proxy_sends(
    proxy_factory: ProxyFactory, upstream_factory: Any, tmp_path: Path, name: str
) -> None:
    """
    Byte for byte, with the figures of the response header; the verb runs as a user would run it.
    """
    sent, reply = await sent_by_the_proxy(proxy_factory, upstream_factory, CASES[name])
    (tmp_path / "request.json").write_bytes(CASES[name])
    command = [sys.executable, "-P", "-m", "proxy.cli", "explain", "request.json", "--json", "--output", "out.json"]
    ran = subprocess.run([*command, "--window", str(WINDOW)], cwd=tmp_path, capture_output=True, check=True)
    told = json.loads(ran.stdout)

    assert (tmp_path / "out.json").read_bytes() == sent
    assert told["action"] == reply.action
    if "x-concertina-tokens" in reply.headers:
        figures = f"before={told['before']};after={told['after']};window={told['window']}"
        assert reply.headers["x-concertina-tokens"] == figures
    fates = {row["fate"] for row in told["rows"]}
    assert fates == {"kept"} if name == "small" else fates >= {"kept", "folded"}


async def test_a_running_proxy_explains_with_its_own_records_and_keeps_nothing(
    proxy_factory: ProxyFactory, upstream_factory: Any
) -> None:
    """
    The next turn of a conversation is told to be reused with the record in force, and asking changes nothing.
    """
    upstream = await upstream_factory(window=WINDOW * 2)
    proxied = await proxy_factory(
        upstream.url,
        upstream={"context_window": WINDOW, "discover": False},
        compaction={"summarizer": {"kind": "extractive"}, "prepare_at": None},
    )
    rows = agent_session(40)
    headers = (("content-type", "application/json"), ("authorization", "Bearer client-key"))

    async def told(body: bytes) -> Explanation:
        return await proxied.proxy.explainer.explain(Incoming("POST", "/v1/chat/completions", headers, body))

    fresh = await told(request(rows))
    assert await proxied.proxy.core.store.recent(10) == []
    reply = await proxied.chat(rows)
    grown = [*rows, {"role": "assistant", "content": "done"}, user("and now?")]
    next_turn = await told(request(grown))
    kept = await proxied.proxy.core.store.recent(10)
    second = await proxied.chat(grown)

    assert (fresh.action, reply.action) == ("compacted", "compacted")
    assert (next_turn.action, second.action) == ("reused", "reused")
    assert next_turn.record == reply.headers["x-concertina-record"] == second.headers["x-concertina-record"]
    assert next_turn.body == upstream.main_calls[-1].body
    assert [record.key for record in kept] == [next_turn.record]
    assert len(upstream.main_calls) == 2


async def test_no_model_is_asked_whatever_the_settings(proxy_factory: ProxyFactory, upstream_factory: Any) -> None:
    """
    A summary by a model costs money: extractive stands in.
    """
    upstream = await upstream_factory(window=WINDOW)
    proxied = await proxy_factory(upstream.url, upstream={"context_window": WINDOW, "discover": False})
    found = await proxied.proxy.explainer.explain(
        Incoming("POST", "/v1/chat/completions", (), request(agent_session(40)))
    )

    assert AppSettings().compaction.summarizer.kind == "llm"
    assert found.action == "compacted"
    assert upstream.main_calls == []
    assert upstream.summary_calls == []


async def test_the_admin_port_explains_as_the_verb_does(
    proxy_factory: ProxyFactory, upstream_factory: Any, admin_factory: Any
) -> None:
    """
    A row for each message, with the window that the proxy goes by; nothing is sent for it.
    """
    upstream = await upstream_factory(window=WINDOW)
    proxied = await proxy_factory(
        upstream.url,
        upstream={"context_window": WINDOW, "discover": False},
        compaction={"summarizer": {"kind": "extractive"}},
    )
    admin = await admin_factory(proxied.proxy.admin)
    told = (await admin.ask("/api/explain", method="POST", data=CASES["agent"])).json

    assert (told["action"], told["window"], told["window_origin"]) == ("compacted", WINDOW, "config")
    assert {row["fate"] for row in told["rows"]} == {"kept", "folded", "restated"}
    assert upstream.main_calls == []
