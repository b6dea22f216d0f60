"""
The admin port of several workers: they are told as one, and a mark reaches whoever gets the next request.
"""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from proxy.chat.json import dumps, loads
from tests.support.conversations import chat_session
from tests.support.processes import Served

pytestmark = pytest.mark.slow
SMALL = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
HALF = chat_session(6)
GROWN = [*HALF, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Go on."}]


async def told(served: Served, path: str) -> Any:
    """
    Return the JSON of an answer of the admin port.
    """
    status, body = await served.get(served.admin + path)
    assert status == 200, body
    return loads(body)


async def test_exchanges_and_sums_of_all_workers_are_told(two_workers: Served) -> None:
    """
    Each exchange once, and no number twice.
    """
    for _ in range(30):
        await two_workers.post(SMALL)
    exchanges = (await told(two_workers, "/api/exchanges"))["exchanges"]
    stats = await told(two_workers, "/api/stats")

    assert len({event["id"] for event in exchanges}) == len(exchanges) == 30
    assert (stats["processes"], stats["actions"]) == (2, {"passthrough": 30})
    assert stats["models"]["default"]["m"]["exchanges"] == 30
    assert sum(minute["exchanges"] for minute in stats["minutes"].values()) == 30
    assert {(await told(two_workers, f"/api/exchanges/{event['id']}"))["id"] for event in exchanges[:5]} == {
        event["id"] for event in exchanges[:5]
    }


async def test_a_marked_conversation_is_compacted_once_by_whichever_worker(two_workers: Served) -> None:
    """
    The others give up their marks once it is done.
    """
    headers = {"content-type": "application/json", "x-concertina-mode": "compact"}

    async def chat(rows: Any) -> str:
        async with (
            aiohttp.ClientSession() as http,
            http.post(
                f"{two_workers.url}/v1/chat/completions", data=dumps({"model": "m", "messages": rows}), headers=headers
            ) as response,
        ):
            return response.headers["x-concertina-action"] + " " + response.headers["x-concertina-id"]

    action, name = (await chat(HALF)).split()
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{two_workers.admin}/api/compact", data=dumps({"exchange": name})) as response,
    ):
        marked = response.status
    actions = [(await chat(GROWN)).split()[0] for _ in range(8)]

    assert (action, marked) == ("passthrough", 202)
    assert actions == ["compacted", *["reused"] * 7]


async def test_exchanges_of_all_workers_are_followed(two_workers: Served) -> None:
    """
    On one stream.
    """
    seen: set[str] = set()
    async with aiohttp.ClientSession() as http, http.get(f"{two_workers.admin}/api/events") as response:
        await response.content.readline()
        for _ in range(16):
            await two_workers.post(SMALL)
        async for line in response.content:
            if line.startswith(b"data: "):
                seen.add(loads(line[6:])["id"])
            if len(seen) == 16:
                break

    assert len(seen) == 16
