"""
Token tables that are slow, damaged or missing: the proxy serves with estimates, and says so.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from proxy.chat.json import loads
from proxy.tokens.vocabulary import Vocabulary
from tests.support.conversations import long_session

NOTE = "token tables could not be loaded: sizes are estimates"


async def readiness(proxied: Any) -> tuple[int, Any]:
    async with proxied.session.get(proxied.url.removesuffix("/v1") + "/readyz") as response:
        return response.status, loads(await response.read())["notes"]


@pytest.mark.parametrize("content", [None, b"no table"])
async def test_ready_with_estimates_where_the_tables_cannot_be_read(
    upstream: Any, proxy_factory: Any, tmp_path: Path, content: bytes | None
) -> None:
    """
    A missing file must not keep an orchestrator from sending traffic that would be served well enough.
    """
    path = tmp_path / "table.bin"
    if content is not None:
        path.write_bytes(content)
    proxied = await proxy_factory(
        upstream.url,
        vocabulary=Vocabulary(path),
        upstream={"context_window": 8_000},
        compaction={"prepare_at": None, "summarizer": {"kind": "extractive"}},
    )
    while not proxied.proxy.core.vocabulary.failed:
        await proxied.proxy.core.tasks.settled()

    reply = await proxied.chat(long_session(14)[-1])

    assert await readiness(proxied) == (200, [NOTE])
    assert (reply.status, reply.action) == (200, "compacted")


async def test_tables_that_could_not_be_read_are_told_once(
    upstream: Any, proxy_factory: Any, tmp_path: Path, capsys: Any
) -> None:
    """
    A process that serves has tried before, and said so; it must not look as if there were two faults.
    """
    vocabulary = Vocabulary(tmp_path / "table.bin")
    with pytest.raises(OSError, match=r"table\.bin"):
        vocabulary.load()
    await proxy_factory(upstream.url, vocabulary=vocabulary)
    while any(task.get_name() == "vocabulary" for task in asyncio.all_tasks()):
        await asyncio.sleep(0.01)

    assert "vocabulary.failed" not in capsys.readouterr().out


async def test_not_ready_while_the_tables_load(upstream: Any, proxy_factory: Any) -> None:
    """
    Loading takes a moment in which an estimate serves whoever asks all the same.
    """
    proxied = await proxy_factory(upstream.url, vocabulary=Waiting())

    assert (await proxied.chat([{"role": "user", "content": "hello"}])).status == 200
    assert await readiness(proxied) == (503, ["token tables are loading"])


class Waiting(Vocabulary):
    """
    Token tables that never get loaded, and never fail.
    """

    def load(self) -> None:
        """
        Do nothing.
        """
