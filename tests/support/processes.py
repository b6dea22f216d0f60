"""
``concertina serve`` as a process of its own, on free ports.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from proxy.admin.fanout import ManyProcesses
from proxy.chat.json import dumps, loads

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0
ServeFactory = Callable[..., Awaitable["Served"]]


def free_port() -> int:
    """
    Return a port that nobody listens on just now.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True)
class Served:
    """
    A running ``concertina serve`` whose temporary files lie in *folder*; *events* is what it logged so far.
    """

    process: asyncio.subprocess.Process
    folder: Path
    admin: str
    events: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def listen_to_log(self) -> None:
        """
        Collect events until the process closes its log.
        """
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            with suppress(ValueError):
                self.events.append(loads(line))
            async with self._news:
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()

    async def event(self, name: str) -> dict[str, Any]:
        """
        Wait for the first event of that name.
        """
        return (await self.events_named(name, 1))[0]

    async def events_named(self, name: str, count: int) -> list[dict[str, Any]]:
        """
        Wait for *count* events of that name.
        """

        def found() -> list[dict[str, Any]]:
            return [event for event in self.events if event.get("event") == name]

        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: len(found()) >= count)
        return found()

    async def post(self, body: Any, *, path: str = "/v1/chat/completions") -> tuple[int, bytes]:
        """
        Post JSON on a connection of its own, so that it may meet any of the workers.
        """
        async with aiohttp.ClientSession() as http, http.post(self.url + path, data=dumps(body)) as response:
            return response.status, await response.read()

    async def get(self, url: str) -> tuple[int, bytes]:
        """
        Get on a connection of its own.
        """
        async with aiohttp.ClientSession() as http, http.get(url) as response:
            return response.status, await response.read()

    def workers(self) -> ManyProcesses:
        """
        Return the way to the workers that the admin port has.
        """
        return ManyProcesses(sorted(self.folder.glob("concertina-*/worker-*.sock")), collect=bytes)

    async def pids(self, count: int) -> list[int]:
        """
        Wait until *count* workers answer, and return their process ids.
        """
        async with asyncio.timeout(PATIENCE):
            while True:
                told = await self.workers().ask_all("worker", {})
                if len(told) == count:
                    return [one["pid"] for one in told]
                await asyncio.sleep(0.05)

    async def ended(self) -> int:
        """
        Wait for the end and return the exit code.
        """
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


@pytest.fixture
async def serve_factory() -> AsyncIterator[ServeFactory]:
    """
    Hand out a starter of processes, which takes the base URL of the upstream and settings as keywords.
    """
    started: list[tuple[Served, asyncio.Task[None]]] = []
    # The folder of a test may have too long a name for a Unix socket.
    with tempfile.TemporaryDirectory(prefix="c") as name:

        async def start(base_url: str, **settings: Any) -> Served:
            folder = Path(name)
            admin = f"127.0.0.1:{free_port()}"
            given = {
                "listen": "127.0.0.1:0",
                "admin": {"listen": admin},
                "store": {"url": f"sqlite:///{folder}/state.db"},
                "upstreams": {"sim": {"base_url": base_url, "context_window": 8_192}},
                **settings,
            }
            file = folder / "c.yaml"
            file.write_bytes(dumps(given))
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "proxy.cli", "serve", "--config", str(file)),
                env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": name},
                cwd=folder,
                stderr=asyncio.subprocess.PIPE,
            )
            served = Served(process, folder, f"http://{admin}")
            started.append((served, asyncio.ensure_future(served.listen_to_log())))
            return served

        yield start
        for served, listening in started:
            if served.process.returncode is None:
                served.process.send_signal(signal.SIGTERM)
                await served.ended()
            await listening


@pytest.fixture
async def two_workers(serve_factory: ServeFactory, upstream: Any) -> Served:
    """
    Two workers that serve, in front of the simulator.
    """
    served = await serve_factory(upstream.url, workers=2)
    where = await served.event("proxy.listening")
    served.url = f"http://{where['host']}:{where['port']}"
    await served.pids(2)
    await served.event("admin.listening")
    return served
