"""
The fake upstream of scenario tests: the simulator, in process, on a free port.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from proxy.simulator.server import Simulator
from proxy.simulator.settings import SimulatorSettings
from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary

UpstreamFactory = Callable[..., Awaitable[Simulator]]

_OWN_ARGUMENTS = ("script", "counter", "is_summary", "on_finished")


@pytest.fixture(scope="session")
def exact_counter() -> TokenCounter:
    """
    The proxy's own counter with its table loaded, for simulators that must count tokens as models do.
    """
    vocabulary = Vocabulary()
    vocabulary.load()
    return TokenCounter(vocabulary, CountCache())


@pytest.fixture
async def upstream_factory() -> AsyncIterator[UpstreamFactory]:
    """
    Hand out a starter of simulators: settings are keywords (``window=8_192, wording="vllm"``).
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
