"""
Mixed load with faults, for a minute or for half an hour: nothing crashes, nothing grows, no answer is wrong.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from proxy.simulator.server import Simulator
from tests.soak.lasting import REALTIME, Lasting, one_long_stream, one_socket
from tests.soak.load import MEGABYTE, PATIENCE_SECONDS, Load
from tests.support.edge import RawUpstream
from tests.support.soaked import Census, soaked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the census reads /proc")

SOAK_SECONDS = float(os.environ.get("SOAK_SECONDS", "1800"))
AT_ONCE = 12
SOCKETS = 4
WINDOW = 8_000
CENSUS_SECONDS = 1.0


async def soak(seconds: float, upstream: Simulator, tmp_path: Path) -> list[Census]:
    """
    Run the load for *seconds* and return a census for each second of it, the last one taken at rest.
    """
    lasting = RawUpstream(Lasting(seconds))
    await lasting.start()
    settings = {
        "store": {"url": f"sqlite:///{tmp_path}/state.db"},
        "admin": {"listen": None},
        # On a machine without time a client of ours may connect now and write much later; nobody is to blame for that.
        "limits": {"header_timeout": PATIENCE_SECONDS},
        "upstreams": {
            "sim": {"base_url": upstream.url, "context_window": WINDOW},
            "lasting": {"base_url": f"http://127.0.0.1:{lasting.port}/v1", "discover": False},
        },
        "routes": [
            {"name": "slow", "match": {"model": "slow"}, "upstream": "lasting"},
            {"name": "realtime", "match": {"path": REALTIME}, "upstream": "lasting"},
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
        sockets = [asyncio.ensure_future(one_socket(proxy.port, seconds, seed=seed)) for seed in range(SOCKETS)]
        while not all(client.done() for client in clients):
            await asyncio.sleep(CENSUS_SECONDS)
            found.append(await proxy.census())
        await asyncio.gather(*clients)
        assert await events == int(seconds)
        echoed = await asyncio.gather(*sockets)
        # Idle connections to the upstream are kept for four seconds.
        await asyncio.sleep(6)
        at_rest = await proxy.census()
    await lasting.stop()

    assert load.wrong == []
    assert load.lost <= max(2, load.hung_up // 4), load.told
    assert sum(load.told.values()) > seconds, load.told
    assert min(echoed) > seconds / 5
    assert at_rest.inflight == 0
    assert at_rest.tasks <= before.tasks + 1
    assert at_rest.files <= before.files + 4
    print(f"{sum(load.told.values())} clients in {seconds:.0f} s", dict(sorted(load.told.items())))
    print(f"{SOCKETS} sockets echoed {sum(echoed)} messages")
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
