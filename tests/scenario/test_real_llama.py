"""
Through the proxy to a real llama.cpp server with a 1,024-token context.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from proxy.chat.json import dumps, loads
from proxy.compaction.handover import unwrap
from proxy.summaries.guards import fault_of
from tests.support.conversations import assistant, call, filler, result, system, user
from tests.support.llama import running_llama

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(280)]


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    """
    One server for all tests here.
    """
    with running_llama(context=1_024) as url:
        yield url


def history() -> list[dict[str, Any]]:
    """
    About twice the context: an ask at the front, talk in the middle, a small ask at the end.
    """
    rows = [system("You are brief."), user("My order number is 4471-B. Remember it.")]
    for turn in range(9):
        rows += [assistant(filler(420, seed=f"answer {turn}")), user(filler(200, seed=f"question {turn}"))]
    return [*rows, assistant("Noted."), user("Say hello.")]


async def ask_directly(url: str, rows: list[dict[str, Any]]) -> int:
    """
    Return the status the server alone gives.
    """
    body = dumps({"model": "smol", "messages": rows, "max_tokens": 8})
    async with (
        aiohttp.ClientSession() as session,
        session.post(url + "/chat/completions", data=body, headers={"content-type": "application/json"}) as answer,
    ):
        return answer.status


@pytest.mark.parametrize("stream", [False, True])
async def test_answers_a_history_that_the_server_alone_refuses(llama: str, proxy_factory: Any, *, stream: bool) -> None:
    """
    The server says 400, the proxy 200: the server states its window, and the old middle is folded.
    """
    proxied = await proxy_factory(llama, compaction={"summarizer": {"kind": "extractive"}})
    rows = history()
    assert await ask_directly(llama, rows) == 400

    reply = await proxied.chat(rows, stream=stream, max_tokens=8)

    assert reply.status == 200
    assert reply.action in {"compacted", "recovered"}
    if stream:
        assert reply.body.rstrip().endswith(b"data: [DONE]")
    else:
        assert loads(reply.body)["usage"]["prompt_tokens"] < 1_024


@pytest.mark.parametrize("stream", [False, True])
async def test_recovers_when_the_window_is_not_known(
    llama: str, proxy_factory: Any, tmp_path: Path, *, stream: bool
) -> None:
    """
    Nobody asked the server for its window: its refusal teaches it, and no later request provokes another.
    The later request comes after a restart.
    """
    settings = {
        "upstream": {"discover": False},
        "compaction": {"summarizer": {"kind": "extractive"}, "prepare_at": None},
        "store": {"url": f"sqlite:///{tmp_path}/state.db"},
    }
    rows = history()
    proxied = await proxy_factory(llama, **settings)
    first = await proxied.chat(rows, stream=stream, max_tokens=8)
    await proxied.proxy.core.tasks.settled()
    restarted = await proxy_factory(llama, **settings)
    again = await restarted.chat([*rows, assistant("Hello."), user("Say it again.")], stream=stream, max_tokens=8)

    assert (first.status, first.action) == (200, "recovered")
    assert again.status == 200
    assert "x-concertina-attempts" not in again.headers


@pytest.mark.parametrize(("turns", "threshold"), [(8, 1_200), (14, 2_000)])
async def test_a_small_models_summary_is_checked_or_replaced(
    llama: str, proxy_factory: Any, upstream_factory: Any, turns: int, threshold: int
) -> None:
    """
    A model of 135 million parameters writes the summary: whatever it says, what is sent passes the guards, and holds the
    user's rules, the edited file and the exact strings; the request goes out once.

    The smaller one has room for some 200 tokens, in which an extract keeps whole lines and no index of exact strings.
    """
    rule = "Never edit gen/schema.sql, the auditors own it."
    rows = [system("You are brief."), user("Find out why the import loses rows.")]
    for turn in range(turns):
        rows += [assistant(filler(300, seed=f"answer {turn}")), user(filler(120, seed=f"question {turn}"))]
        if turn == 2:
            rows += [assistant("Noted."), user(rule)]
        if turn == 4:
            rows += [
                call("edit_file", id="e", path="src/load_orders.py"),
                {**result("e", 1), "content": "ok ORD-55120"},
            ]
    upstream = await upstream_factory(window=4_000)
    proxied = await proxy_factory(
        upstream.url,
        upstreams={
            "sim": {"base_url": upstream.url, "context_window": 4_000, "discover": False},
            "small": {"base_url": llama, "context_window": 1_024, "discover": False, "api_keys": ["none"]},
        },
        compaction={
            "threshold_tokens": threshold,
            "prepare_at": None,
            "summarizer": {"model": "smol", "upstream": "small", "wait": 200, "timeout": 200, "max_calls": 1},
        },
    )
    reply = await proxied.chat([*rows, assistant("Noted."), user("Go on.")])
    await proxied.proxy.core.tasks.settled()
    (sent,) = upstream.main_calls
    row = next(str(message["content"]) for message in sent.messages if "[notes on" in str(message["content"]))

    assert (reply.status, reply.action) == (200, "compacted")
    assert fault_of(unwrap(row) or "", source="x" * 20_000) is None
    strings = ("ORD-55120",) if turns > 8 else ()
    missing = [fact for fact in (rule, "src/load_orders.py", *strings) if fact not in row]
    assert missing == [], row
