"""
Small worlds for scenarios.
"""

from typing import Any

import pytest
import structlog

from proxy.telemetry.logs import where
from tests.support.worlds import THRESHOLD, WINDOW, World, WorldFactory


@pytest.fixture(autouse=True)
def plain_log() -> None:
    """
    Print events on a line each, without the local values that structlog shows by default.
    """
    structlog.configure(
        processors=[structlog.processors.add_log_level, where, structlog.processors.KeyValueRenderer()],
        logger_factory=structlog.PrintLoggerFactory(),
    )


@pytest.fixture
def world_factory(upstream_factory: Any, proxy_factory: Any, exact_counter: Any) -> WorldFactory:
    """
    Start worlds: *sim* are the simulator's settings, *compaction* and the rest the proxy's.

    The proxy knows the window unless it is *blind*; then it believes the default of 128,000 tokens.
    """

    async def start(
        *,
        sim: dict[str, Any] | None = None,
        compaction: dict[str, Any] | None = None,
        upstream: dict[str, Any] | None = None,
        blind: bool = False,
        **settings: Any,
    ) -> World:
        told = {"window": WINDOW, "counter": exact_counter, "summary_markers": ("<record ",), "summary_tokens": 300}
        simulator = await upstream_factory(**{**told, **(sim or {})})
        known = {"discover": False} if blind else {"context_window": WINDOW}
        early = {} if blind else {"threshold_tokens": THRESHOLD}
        proxied = await proxy_factory(
            simulator.url,
            upstream={**known, **(upstream or {})},
            compaction={"prepare_at": None, **early, **(compaction or {})},
            **settings,
        )
        return World(simulator, proxied)

    return start
