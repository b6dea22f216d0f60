"""
Mixed load with faults, for a minute or for half an hour: nothing crashes, nothing grows, no answer is wrong.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from proxy.chat.json import dumps, loads
from proxy.simulator.server import Simulator
from proxy.simulator.steps import answer, when
from tests.support.conversations import agent_session, as_requests, chat_session
from tests.support.edge import CHAT, STREAM_HEAD, Answered, RawClient, RawUpstream, chunk
from tests.support.faults import UPSTREAM, verdict
from tests.support.soaked import Census, Soaked, soaked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the census reads /proc")

SOAK_SECONDS = float(os.environ.get("SOAK_SECONDS", "1800"))
AT_ONCE = 12
WINDOW = 8_000
CENSUS_SECONDS = 1.0
PATIENCE_SECONDS = 60
MEGABYTE = 1024 * 1024
SESSIONS = [list(as_requests(rows)) for rows in (agent_session(14), agent_session(18), chat_session(14))]


class Load:
    """
    One client after the other, each with a task of its own drawing; *told* counts what they were told.
    """

    def __init__(self, proxy: Soaked, upstream: Simulator, *, seed: int) -> None:
        self.proxy = proxy
        self.upstream = upstream
        self.random = random.Random(seed)
        self.told: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._numbers = itertools.count()
        self._kinds: list[tuple[Callable[[], Awaitable[str]], int]] = [
            (self.short, 8),
            (self.long, 3),
            (self.broken, 8),
            (self.leaves, 4),
            (self.elsewhere, 2),
            (self.uploads, 1),
            (self.rubbish, 2),
        ]

    async def run(self, until: float) -> None:
        """
        Be clients until the loop's time is *until*.
        """
        kinds, weights = zip(*self._kinds, strict=True)
        while asyncio.get_running_loop().time() < until:
            (kind,) = self.random.choices(kinds, weights)
            try:
                told = await asyncio.wait_for(kind(), PATIENCE_SECONDS)
            except (AssertionError, ValueError, KeyError, TimeoutError, EOFError, OSError) as exc:
                self.wrong.append(f"{kind.__name__}: {type(exc).__name__} {exc}")
                told = "wrong"
            self.told[f"{kind.__name__} {told}"] += 1

    async def short(self) -> str:
        """
        A short question, whose answer has to be the right one.
        """
        return await self._right([{"role": "user", "content": f"question {next(self._numbers)}"}])

    async def long(self) -> str:
        """
        The turns of a session that outgrows the window, each answered.
        """
        session, number = self.random.choice(SESSIONS), next(self._numbers)
        for rows in session[-6:]:
            own = [{**rows[0], "content": f"{rows[0]['content']} ({number})"}, *rows[1:]]
            await self._right(own)
        return "answered"

    async def broken(self) -> str:
        """
        An upstream that fails in some way; the client is told so, or gets its answer.
        """
        model = f"fault-{next(self._numbers)}"
        fault = self.random.choice(list(UPSTREAM))
        self.upstream.will(when(UPSTREAM[fault](), model=model))
        told = verdict(await self._post({"model": model, "messages": SESSIONS[0][0], "stream": self._coin()}))
        return f"{told} by {fault}"

    async def leaves(self) -> str:
        """
        A client that leaves at some moment.
        """
        client = await self._send({"model": "sim-model", "messages": self.random.choice(SESSIONS)[-1], "stream": True})
        await asyncio.sleep(self.random.choice([0, 0.005, 0.05, 0.3]))
        if self._coin():
            client.writer.transport.abort()
        await client.leave()
        return "gone"

    async def elsewhere(self) -> str:
        """
        Other endpoints.
        """
        client = await self._client()
        told = await client.ask("GET", self.random.choice(["/v1/models", "/healthz", "/readyz"]))
        await client.leave()
        assert told.status == 200
        return "answered"

    async def uploads(self) -> str:
        """
        A file of a megabyte.
        """
        client = await self._client()
        await client.send(b"POST /v1/files HTTP/1.1\r\nHost: p\r\nContent-Length: %d\r\n\r\n" % MEGABYTE)
        await client.send(b"x" * MEGABYTE)
        told = await client.answer()
        await client.leave()
        return verdict(told)

    async def rubbish(self) -> str:
        """
        Bytes that are no HTTP, or no JSON.
        """
        client = await self._client()
        if self._coin():
            await client.send(self.random.randbytes(200) + b"\r\n\r\n")
            told = await client.answer()
            assert told.status == 400
        else:
            told = await client.ask("POST", CHAT, body=self.random.randbytes(2_000))
        await client.leave()
        return verdict(told)

    async def _right(self, rows: list[Any]) -> str:
        text = f"answer {next(self._numbers)}"
        model = f"asked-{next(self._numbers)}" if len(rows) < 3 else "sim-model"
        stream = self._coin()
        if model != "sim-model":
            self.upstream.will(when(answer(text), model=model))
        told = await self._post({"model": model, "messages": rows, "stream": stream})
        assert (told.status, told.complete) == (200, True), told.body[:300]
        got = _text(told.body, stream=stream)
        assert got, "no text"
        assert model == "sim-model" or got == text, f"{got!r} is not {text!r}"
        return "answered"

    def _coin(self) -> bool:
        return self.random.random() < 0.5

    async def _client(self) -> RawClient:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.proxy.port, limit=2**24)
        return RawClient(reader, writer)

    async def _send(self, body: dict[str, Any]) -> RawClient:
        client, raw = await self._client(), dumps(body)
        head = f"POST {CHAT} HTTP/1.1\r\nHost: p\r\nAuthorization: Bearer k\r\nContent-Length: {len(raw)}\r\n\r\n"
        await client.send(head.encode() + raw)
        return client

    async def _post(self, body: dict[str, Any]) -> Answered:
        client = await self._send(body)
        told = await client.answer()
        await client.leave()
        return told


def _text(body: bytes, *, stream: bool) -> str:
    if not stream:
        return str(loads(body)["choices"][0]["message"]["content"])
    frames = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ") and line != b"data: [DONE]"]
    assert body.rstrip().endswith(b"data: [DONE]")
    deltas = [choice["delta"].get("content") or "" for frame in frames for choice in loads(frame)["choices"]]
    return "".join(deltas)


async def one_long_stream(port: int, seconds: float) -> int:
    """
    Return how many events of one stream were read that lasted as long as the soak.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    client = RawClient(reader, writer)
    body = dumps({"model": "slow", "messages": [{"role": "user", "content": "count"}], "stream": True})
    await client.send(b"POST %b HTTP/1.1\r\nHost: p\r\nContent-Length: %d\r\n\r\n" % (CHAT.encode(), len(body)) + body)
    told = await asyncio.wait_for(client.answer(), seconds + 60)
    await client.leave()
    assert told.complete
    return told.body.count(b"data: ")


async def soak(seconds: float, upstream: Simulator, tmp_path: Path) -> list[Census]:
    """
    Run the load for *seconds* and return a census for each second of it, the last one taken at rest.
    """

    async def slow(request: Any, reader: Any, writer: Any) -> None:
        writer.write(STREAM_HEAD)
        for number in range(int(seconds)):
            writer.write(chunk(b'data: {"choices":[{"index":0,"delta":{"content":"%d"}}]}\n\n' % number))
            await asyncio.sleep(1)
        writer.write(b"0\r\n\r\n")

    counting = RawUpstream(slow)
    await counting.start()
    settings = {
        "store": {"url": f"sqlite:///{tmp_path}/state.db"},
        "admin": {"listen": None},
        "limits": {"header_timeout": 5},
        "upstreams": {
            "sim": {"base_url": upstream.url, "context_window": WINDOW},
            "slow": {"base_url": f"http://127.0.0.1:{counting.port}/v1", "discover": False},
        },
        "routes": [
            {"name": "slow", "match": {"model": "slow"}, "upstream": "slow"},
            {"name": "all", "upstream": "sim"},
        ],
        "compaction": {"threshold_tokens": 6_000, "summarizer": {"wait": 2}},
    }
    found: list[Census] = []
    async with soaked(settings, tmp_path / "log") as proxy:
        before = await proxy.census()
        load = Load(proxy, upstream, seed=int(seconds))
        until = asyncio.get_running_loop().time() + seconds
        clients = [asyncio.ensure_future(load.run(until)) for _ in range(AT_ONCE)]
        events = asyncio.ensure_future(one_long_stream(proxy.port, seconds))
        while not all(client.done() for client in clients):
            await asyncio.sleep(CENSUS_SECONDS)
            found.append(await proxy.census())
        await asyncio.gather(*clients)
        assert await events == int(seconds)
        # Idle connections to the upstream are kept for four seconds.
        await asyncio.sleep(6)
        at_rest = await proxy.census()
    await counting.stop()

    assert load.wrong == []
    assert sum(load.told.values()) > seconds, load.told
    assert at_rest.inflight == 0
    assert at_rest.tasks <= before.tasks + 1
    assert at_rest.files <= before.files + 4
    print(f"{sum(load.told.values())} clients in {seconds:.0f} s", dict(sorted(load.told.items())))
    print(f"files {before.files} to {at_rest.files}, tasks {before.tasks} to {at_rest.tasks}")
    log = (tmp_path / "log").read_bytes()
    assert b"Traceback" not in log, log[log.index(b"Traceback") :][:3_000].decode()
    return [*found, at_rest]


def grown(found: list[Census], first: float) -> float:
    """
    Return how many megabytes the memory grew from the quarter that begins at the share *first* to the last quarter.
    """
    size, quarter = len(found), max(len(found) // 4, 1)
    start = int(size * first)
    early = median(census.memory for census in found[start : start + quarter])
    late = median(census.memory for census in found[-quarter:])
    print(f"memory {early / MEGABYTE:.0f} MB, then {late / MEGABYTE:.0f} MB")
    return (late - early) / MEGABYTE


@pytest.fixture
async def upstream(upstream_factory: Any, exact_counter: Any) -> Simulator:
    """
    A simulator that forgets, so that only the proxy could grow.
    """
    simulator: Simulator = await upstream_factory(
        window=WINDOW, counter=exact_counter, summary_markers=("<record ",), summary_tokens=300, remember=50
    )
    return simulator


@pytest.mark.slow
@pytest.mark.timeout(280)
async def test_a_minute_of_load_with_faults(upstream: Simulator, tmp_path: Path) -> None:
    """
    In every run of the tests: caches still fill, so memory may grow a little.
    """
    found = await soak(60, upstream, tmp_path)

    assert grown(found, 0.5) < 30


@pytest.mark.soak
@pytest.mark.timeout(2_400)
async def test_half_an_hour_of_load_with_faults(upstream: Simulator, tmp_path: Path) -> None:
    """
    Once caches are full memory stays flat; one stream lasts the whole time.
    """
    found = await soak(SOAK_SECONDS, upstream, tmp_path)

    assert grown(found, 0.25) < 30
