"""
Whoever started a process may be killed without a chance to tell it: nothing stays behind, and no port stays open.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.family import alive, all_gone, begun_by, descendants, stat
from tests.support.processes import PATIENCE, ROOT, ServeFactory

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc")]
ASKING = """
import sys
from proxy.pipeline.workshop import Workshop
from tests.support.jobs import endless
shop = Workshop.fork(len) if sys.argv[1] == "fork" else Workshop.start()
try:
    shop.do(endless)
except Exception as fault:
    print(type(fault).__name__)
"""
COMMAND = "import os, sys; print(os.getpid(), os.environ['OPENAI_BASE_URL'], flush=True); sys.stdin.read()"


@contextmanager
def python(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """
    Run Python, with this project to import, as long as the block runs.
    """
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen((sys.executable, *arguments), env=environ, stdin=pipe, stdout=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("how", ["fork", "start"])
async def test_a_long_job_ends_when_whoever_asked_for_it_is_killed(how: str) -> None:
    """
    It would go on for nobody, at the cost of a core.
    """
    with python("-c", ASKING, how) as process:
        working = await begun_by(process.pid, 2)
        process.kill()
        await all_gone(working)


@pytest.mark.parametrize("how", ["fork", "start"])
async def test_a_long_job_ends_when_the_process_that_began_it_is_killed(how: str) -> None:
    """
    Whoever asked is told at once, since it is done once more, elsewhere.
    """
    with python("-c", ASKING, how) as process:
        working = await begun_by(process.pid, 2)
        beside = next(pid for pid in working if stat(pid)[1] == str(process.pid))
        os.kill(beside, signal.SIGKILL)
        told = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
        await all_gone(working)

    assert told[0] == b"WorkshopGoneError\n"


@pytest.mark.parametrize("workers", [1, 2])
async def test_no_process_outlasts_the_one_that_was_started(
    serve_factory: ServeFactory, upstream: Any, workers: int
) -> None:
    """
    Workers, the admin port's process, and those for long work.
    """
    served = await serve_factory(upstream.url, workers=workers)
    await served.event("proxy.listening")
    await served.event("admin.listening")
    begun = await begun_by(served.process.pid, 1 if workers == 1 else 2 * workers + 1)
    served.process.kill()
    await all_gone(begun)


async def test_a_proxy_ends_when_what_runs_a_command_behind_it_is_killed() -> None:
    """
    The command is not ours to end; the proxy is, and its port closes.
    """
    verb = ("run", "--upstream", "http://127.0.0.1:9/v1", "--", sys.executable, "-c", COMMAND)
    with python("-m", "proxy.cli", *verb) as process:
        assert process.stdout is not None
        command, url = (await asyncio.to_thread(process.stdout.readline)).split()
        proxies = descendants(process.pid) - {int(command)}
        process.kill()
        await all_gone(proxies)

        assert proxies
        assert alive(int(command))
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", int(url.rpartition(b":")[2].partition(b"/")[0]))
