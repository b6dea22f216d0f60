"""
Clients of every kind, well behaved and not, one after the other for as long as it takes.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from proxy.chat.json import dumps, loads
from proxy.simulator.server import Simulator
from proxy.simulator.steps import answer, when
from tests.support.conversations import agent_session, as_requests, chat_session
from tests.support.edge import CHAT, Answered, RawClient
from tests.support.faults import UPSTREAM, verdict
from tests.support.soaked import Soaked

PATIENCE_SECONDS = 60
MEGABYTE = 1024 * 1024
HANGS_UP = "hung up after the answer"
SESSIONS = [list(as_requests(rows)) for rows in (agent_session(14), agent_session(18), chat_session(14))]


class Load:
    """
    One client after the other, each with a task of its own drawing; *told* counts what they were told.

    A request that is written to a kept connection in the moment in which its server hangs up without a word is *lost*: it
    must not be sent twice. There are at most as many as connections that were *hung_up* on.
    """

    def __init__(self, proxy: Soaked, upstream: Simulator, *, seed: int) -> None:
        self.proxy = proxy
        self.upstream = upstream
        self.random = random.Random(seed)
        self.told: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.hung_up = self.lost = 0
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
        self.hung_up += fault == HANGS_UP
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
        if told.status == 502 and b'"upstream_broken"' in told.body and self.lost < self.hung_up:
            self.lost += 1
            return "lost"
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
