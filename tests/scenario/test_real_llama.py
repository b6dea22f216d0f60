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
from tests.support.conversations import assistant, filler, system, user
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
