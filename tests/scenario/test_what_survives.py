"""
What of a conversation survives in the bytes that reach the upstream, with the summariser that needs no model.

A fast sample of what ``make bench-quality`` measures in full.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pytest

from bench.quality.generated import conversation
from bench.quality.measure import tally
from bench.quality.views import size, visible
from bench.quality.wire import Job, received
from tests.support.proxied import loaded_vocabulary

USER_KINDS = ("constraint", "correction", "preference", "pending")
FIRM_KINDS = ("decision", "file", "todo")
TOOL_KINDS = ("error", "id", "number", "needle")
SEEDS = (201, 202)


@pytest.fixture(scope="module")
def count() -> Callable[[str], int]:
    """
    The vocabulary's own count, remembered.
    """
    return lru_cache(maxsize=None)(loaded_vocabulary().count)


async def survivors(share: float, bank: str, count: Callable[[str], int]) -> tuple[dict[str, list[int]], list[float]]:
    """
    Return, by kind, how many facts arrived and how many there were, and how full each budget was.
    """
    made = [conversation(seed, bank=bank) for seed in SEEDS]
    jobs = [Job(one.rows, int(share * sum(size(row, count) for row in one.rows))) for one in made]
    found: dict[str, list[int]] = {}
    fill: list[float] = []
    number = 0
    async for rows in received(jobs, loaded_vocabulary()):
        tally(visible(rows), made[number].facts, found)
        fill.append(sum(size(row, count) for row in rows) / jobs[number].budget)
        number += 1
    return found, fill


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.20, 0.35])
@pytest.mark.parametrize("bank", ["plain", "other"])
async def test_what_was_said_survives(share: float, bank: str, count: Callable[[str], int]) -> None:
    """
    Words of people all; decisions, files and plans 95 %; facts in tool output 85 %; no old value alone.
    """
    found, fill = await survivors(share, bank, count)

    assert {kind: found[kind][0] - found[kind][1] for kind in USER_KINDS} == dict.fromkeys(USER_KINDS, 0)
    assert all(found[kind][0] >= 0.95 * found[kind][1] for kind in FIRM_KINDS)
    assert sum(found[kind][0] for kind in TOOL_KINDS) >= 0.85 * sum(found[kind][1] for kind in TOOL_KINDS)
    assert found["stale alone"][0] == 0
    assert max(fill) <= 1.02


@pytest.mark.slow
@pytest.mark.parametrize("bank", ["plain", "other"])
async def test_most_survives_in_a_tenth(bank: str, count: Callable[[str], int]) -> None:
    """
    All kinds together keep 80 %, and the room that the target leaves is used.
    """
    found, fill = await survivors(0.10, bank, count)
    kinds = [kind for kind in found if kind != "stale alone"]

    assert sum(found[kind][0] for kind in kinds) >= 0.80 * sum(found[kind][1] for kind in kinds)
    assert min(fill) > 0.9
