"""
A proxy in a process of its own, which tells its size whenever it is asked: memory, files, tasks, requests in flight.

Run as a program it reads the settings as one line of JSON, prints its port, and answers each further line with a census.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proxy.chat.json import dumps, loads
from proxy.config.settings import AppSettings
from proxy.server.run import run
from proxy.wiring import build

ROOT = Path(__file__).resolve().parents[2]
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Census:
    """
    What a process holds; *memory* in bytes.
    """

    memory: int
    files: int
    tasks: int
    inflight: int


class Soaked:
    """
    The running process.
    """

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.port = port
        self.process = process

    async def census(self) -> Census:
        """
        Return what the proxy holds now.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(b"\n")
        await self.process.stdin.drain()
        line = await asyncio.wait_for(self.process.stdout.readline(), 60)
        assert line, "the proxy has died"
        return Census(**loads(line))


@asynccontextmanager
async def soaked(settings: dict[str, Any], log: Path) -> AsyncIterator[Soaked]:
    """
    Run a proxy for as long as the block lasts; what it logs goes to the file *log*.
    """
    with log.open("wb") as sink:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=sink,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(dumps(settings) + b"\n")
            await process.stdin.drain()
            yield Soaked(process, int(await process.stdout.readline()))
            process.stdin.close()
            assert await asyncio.wait_for(process.wait(), 30) == 0, "the proxy did not end well"
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def _census(inflight: int) -> dict[str, int]:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    files = sum(1 for _ in Path("/proc/self/fd").iterdir())
    return {"memory": pages * PAGE_BYTES, "files": files, "tasks": len(asyncio.all_tasks()), "inflight": inflight}


async def _main(settings: dict[str, Any]) -> None:
    proxy = await build(AppSettings.model_validate(settings))
    listening, _, port = await proxy.start("127.0.0.1", 0)
    while not proxy.core.vocabulary.ready:
        await asyncio.sleep(0.05)
    print(port, flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(dumps(_census(proxy.edge.inflight)).decode(), flush=True)
    await listening.stop(drain=2)
    await proxy.close()


if __name__ == "__main__":
    import structlog

    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.KeyValueRenderer()],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    run(_main(loads(sys.stdin.readline().encode())))
