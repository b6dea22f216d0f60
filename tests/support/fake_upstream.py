"""
The fake upstream of scenario tests: the simulator, in process, on a free port.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from proxy.simulator.server import Simulator
from proxy.simulator.settings import SimulatorSettings

UpstreamFactory = Callable[..., Awaitable[Simulator]]

_OWN_ARGUMENTS = ("script", "counter", "is_summary", "on_finished")


@pytest.fixture
async def upstream_factory() -> AsyncIterator[UpstreamFactory]:
    """
    Start simulators by their settings, as in ``await upstream_factory(window=8_192, wording="vllm")``.
    """
    started: list[Simulator] = []

    async def start(**settings: Any) -> Simulator:
        own = {name: settings.pop(name) for name in _OWN_ARGUMENTS if name in settings}
        simulator = Simulator(SimulatorSettings(**settings), **own)
        started.append(simulator)
        await simulator.start()
        return simulator

    yield start
    for simulator in started:
        await simulator.stop()


@pytest.fixture
async def upstream(upstream_factory: UpstreamFactory) -> Simulator:
    """
    One simulator without a window: ``upstream.will(overflow(limit=8_192), answer("done"))``.
    """
    return await upstream_factory()
