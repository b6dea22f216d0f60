"""
A whole process with keys and texts planted everywhere: what it logs, counts, traces and answers of its own holds none.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from proxy.chat.json import dumps
from proxy.simulator.server import Simulator
from proxy.simulator.steps import overflow, repeat, reset_midstream, when
from tests.support.conversations import assistant, call, chat_session, result, tool_schema, user
from tests.support.edge import CHAT, RawClient, RawUpstream, plain
from tests.support.faults import UPSTREAM

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

ROOT = Path(__file__).resolve().parents[2]
CLIENT_KEY = "ck-planted-77aa01bd93"
OWN_KEY = "sk-planted-4f1e7a90c2"
LENT_KEY = "sk-lent-99de41f0aabb"
ADMIN_TOKEN = "tk-planted-aa55cc7700"
STORE_SECRET = "ss-planted-1212343456"
QUERY_KEY = "qk-planted-0b1c2d3e4f"
HEADER = "hd-planted-55e1f0a9b8"
ASKED, ARGUMENT, OUTPUT, SYSTEM, TOOL, SCHEMA, TOLD, BROKEN = (
    f"PLANTED{name}" for name in ("ASKED", "ARGUMENT", "OUTPUT", "SYSTEM", "TOOL", "SCHEMA", "TOLD", "BROKEN")
)
KEYS = (CLIENT_KEY, OWN_KEY, LENT_KEY, ADMIN_TOKEN, STORE_SECRET, QUERY_KEY, HEADER)
TEXTS = (ASKED, ARGUMENT, OUTPUT, SYSTEM, TOOL, SCHEMA, TOLD, BROKEN)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def configuration(upstream: str, traces: str | None, folder: Path, ports: tuple[int, int]) -> str:
    """
    Return the settings as YAML, which JSON is.
    """
    given: dict[str, Any] = {
        "listen": f"127.0.0.1:{ports[0]}",
        "admin": {"listen": f"127.0.0.1:{ports[1]}", "token": ADMIN_TOKEN},
        "client_keys": [CLIENT_KEY],
        "log": {"level": "debug", "format": "json"},
        "store": {"url": f"sqlite:///{folder}/state.db", "secret": STORE_SECRET},
        "upstreams": {
            "sim": {
                "base_url": upstream,
                "context_window": 8_000,
                "api_keys": [LENT_KEY],
                "headers": {"x-own": HEADER},
            },
            "down": {"base_url": f"http://127.0.0.1:{free_port()}/v1", "api_keys": [LENT_KEY]},
        },
        "routes": [
            {"name": "down", "match": {"model": "down"}, "upstream": "down"},
            {"name": "all", "upstream": "sim"},
        ],
        "compaction": {"threshold_tokens": 6_000, "summarizer": {"wait": 5}},
    }
    return orjson.dumps({**given, **({"otlp": traces} if traces else {})}).decode()


@asynccontextmanager
async def served(config: Path, port: int, log: Path) -> AsyncIterator[None]:
    """
    Serve as users do, all output kept in *log*.
    """
    with log.open("wb") as sink:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "proxy.cli", "serve", "--config", str(config),
            stdout=sink, stderr=sink, cwd=config.parent, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        try:
            async with aiohttp.ClientSession() as session, asyncio.timeout(60):
                while not await _ready(session, port):
                    assert process.returncode is None, log.read_text("utf-8")
                    await asyncio.sleep(0.1)
            yield
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            await process.wait()


async def _ready(session: aiohttp.ClientSession, port: int) -> bool:
    try:
        async with session.get(f"http://127.0.0.1:{port}/readyz") as told:
            return told.status == 200
    except aiohttp.ClientError:
        return False


def planted_session() -> list[dict[str, Any]]:
    """
    Return a history over the threshold with something planted in every kind of row.
    """
    rows = chat_session(13)
    rows[0] = {"role": "system", "content": f"{SYSTEM} {rows[0]['content']}"}
    rows[1] = user(f"{ASKED} {rows[1]['content']}")
    tools = [call("read_file", path=ARGUMENT, key=OWN_KEY), result("a", f"{OUTPUT} error: {OWN_KEY}")]
    return [
        *rows[:4],
        assistant("ok"),
        user("read"),
        *tools,
        assistant("read"),
        *rows[5:],
        assistant("ok"),
        user(f"{ASKED}?"),
    ]


async def every_kind_of_exchange(port: int, upstream: Simulator) -> list[bytes]:
    """
    Make requests that end in every way, and return what of the answers is the proxy's own: headers and refusals.
    """
    own: list[bytes] = []
    headers = {"authorization": f"Bearer {OWN_KEY}", "x-concertina-key": CLIENT_KEY, "x-mine": HEADER}
    lent = {"authorization": f"Bearer {CLIENT_KEY}"}
    tools = [{**tool_schema(), "function": {**tool_schema()["function"], "name": TOOL, "description": SCHEMA}}]
    url = f"http://127.0.0.1:{port}{CHAT}?key={QUERY_KEY}"

    async def post(body: Any, **given: Any) -> None:
        data = body if isinstance(body, bytes) else dumps(body)
        sent = {"content-type": "application/json", **given}
        try:
            async with session.post(url, data=data, headers=sent) as told:
                own.append("\n".join(f"{k}: {v}" for k, v in told.headers.items() if "concertina" in k).encode())
                answer = await told.read()
                if told.status >= 400 and b"The upstream said" not in answer:
                    own.append(answer)
        except aiohttp.ClientError:
            own.append(b"broken")

    async with aiohttp.ClientSession() as session:
        for stream in (False, True):
            for rows in ([user(ASKED)], planted_session(), [*planted_session(), assistant(TOLD), user(ASKED)]):
                for given in (headers, lent):
                    await post({"model": "sim-model", "messages": rows, "tools": tools, "stream": stream}, **given)
            for number, fault in enumerate(UPSTREAM.values()):
                upstream.will(when(fault(), model=f"f{number}{stream}"))
                await post({"model": f"f{number}{stream}", "messages": [user(ASKED)], "stream": stream}, **headers)
            upstream.will(*repeat(4, when(overflow(limit=50), model="refuses")))
            await post({"model": "refuses", "messages": planted_session(), "stream": stream}, **headers)
            await post({"model": "down", "messages": planted_session(), "stream": stream}, **headers)
            upstream.will(when(reset_midstream(2), summary=True), when(reset_midstream(2), summary=True))
            other = [{**row, "content": f"{row.get('content')} {stream}"} for row in planted_session()]
            await post({"model": "sim-model", "messages": other, "stream": stream}, **headers)
        await post(f'{{"model": "m", "messages": [{BROKEN}'.encode(), **headers)
        await post({"model": "m", "messages": [user(ASKED)]}, authorization=f"Bearer {OWN_KEY}")
        await post(b"\x1f\x8b" + BROKEN.encode(), **headers, **{"content-encoding": "gzip"})
        await post({"model": "m", "messages": [{"role": "user", "content": [BROKEN, 7, {"type": BROKEN}]}]}, **headers)
    for raw in (
        f"POST {CHAT}?key={QUERY_KEY} HTTP/1.1\r\nHost: p\r\nAuthorization : {OWN_KEY}\r\n\r\n",
        f"{BROKEN} {OWN_KEY}\r\n\r\n",
        f"GET http://x.example/?key={QUERY_KEY} HTTP/1.1\r\nHost: p\r\n\r\n",
        f"GET /../{OWN_KEY} HTTP/1.1\r\nHost: p\r\nAuthorization: Bearer {CLIENT_KEY}\r\n\r\n",
        f"POST {CHAT} HTTP/1.1\r\nHost: p\r\nAuthorization: Bearer {CLIENT_KEY}\r\nTransfer-Encoding: chunked\r\n\r\nzz{BROKEN}\r\n",
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        client = RawClient(reader, writer)
        await client.send(raw.encode())
        own.append((await client.answer()).body)
        await client.leave()
    return own


async def admin_tells(port: int) -> dict[str, bytes]:
    """
    Return what the admin port says, but for the sessions, which have titles.
    """
    told = {}
    async with aiohttp.ClientSession(headers={"authorization": f"Bearer {ADMIN_TOKEN}"}) as session:
        for path in ("/metrics", "/api/stats", "/api/windows", "/api/exchanges", "/"):
            async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                assert answer.status == 200, path
                told[path] = await answer.read()
    return told


async def test_no_planted_key_or_text_is_told_anywhere(
    upstream_factory: Any, exact_counter: Any, tmp_path: Path
) -> None:
    """
    Successes, compactions, refusals, faults of upstreams, summarisers and clients: log, metrics, traces, statistics,
    headers and errors of ours hold none of it, and the store holds no key.
    """
    upstream = await upstream_factory(
        window=8_000, counter=exact_counter, strict=False, summary_markers=("<record ",), summary_tokens=300
    )
    collector = RawUpstream(plain(b""))
    await collector.start()
    traces = f"http://127.0.0.1:{collector.port}" if find_spec("opentelemetry.exporter") else None
    ports, config, log = (free_port(), free_port()), tmp_path / "c.yaml", tmp_path / "log"
    config.write_text(configuration(upstream.url, traces, tmp_path, ports), "utf-8")
    async with served(config, ports[0], log):
        own = await every_kind_of_exchange(ports[0], upstream)
        told = await admin_tells(ports[1])
    await collector.stop()
    emitted = {"log": log.read_bytes(), "answers": b"\n".join(own), **told}
    emitted["traces"] = b"\n".join(one.head + one.body for one in collector.received)
    stored = {path.name: path.read_bytes() for path in tmp_path.glob("state.db*")}

    assert emitted["log"].count(b"exchange.finished") > 60
    assert b"concertina_requests_total" in emitted["/metrics"]
    actions = {orjson.loads(line).get("action") for line in emitted["log"].splitlines() if line.startswith(b"{")}
    assert {"passthrough", "compacted", "reused", "gave-up"} <= actions, actions
    assert traces is None or len(collector.received) > 0
    found = [(where, one) for where, data in emitted.items() for one in (*KEYS, *TEXTS) if one.encode() in data]
    assert found == []
    assert [
        (name, key) for name, data in stored.items() for key in KEYS if key.encode() in data and key != STORE_SECRET
    ] == []
