"""
The process for long work is killed, as by a system that is short of memory: long jobs go on beside the loop, in another.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.conversations import assistant, filler, user
from tests.support.family import begun_by, descendants, ticks_of_ended_children
from tests.support.processes import Served, ServeFactory

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc")]


async def folded(served: Served, number: int) -> None:
    """
    Have a history folded that is long enough for a process of its own.
    """
    rows = [
        row
        for turn in range(20)
        for row in (user(filler(2_000, seed=f"{number}u{turn}")), assistant(filler(2_000, seed=f"{number}a{turn}")))
    ]
    rows.append(user("go on"))
    status, _ = await served.post({"model": "m", "messages": rows})
    assert status == 200
    done = await served.events_named("exchange.finished", number)
    assert done[-1]["action"] == "compacted"


async def test_the_next_long_job_runs_in_a_new_process(serve_factory: ServeFactory, upstream: Any) -> None:
    """
    Only the job at hand is done in the process that serves; the log tells of the loss.
    """
    served = await serve_factory(
        upstream.url, compaction={"prepare_at": None, "summarizer": {"kind": "extractive"}}, store={"url": "memory://"}
    )
    where = await served.event("proxy.listening")
    served.url = f"http://{where['host']}:{where['port']}"
    (first,) = await begun_by(served.process.pid, 1)
    await folded(served, 1)
    worked = ticks_of_ended_children(first)
    os.kill(first, signal.SIGKILL)
    await folded(served, 2)
    lost = await served.event("workshop.lost")
    left = descendants(served.process.pid)
    await folded(served, 3)
    (second,) = descendants(served.process.pid)

    assert worked > 0
    assert lost["restart_in"] == 0.0
    assert left == set()
    assert second != first
    assert ticks_of_ended_children(second) > 0
