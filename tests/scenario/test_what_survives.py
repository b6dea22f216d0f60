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
from bench.quality.wire import Job, after_rounds, received
from proxy.chat.groups import group_starts
from proxy.chat.json import dumps
from tests.support.proxied import loaded_vocabulary

USER_KINDS = ("constraint", "correction", "preference", "pending")
FIRM_KINDS = ("decision", "file", "todo")
TOOL_KINDS = ("error", "id", "number", "needle")
SEEDS = (201, 202)
SIDE_CONSTRAINTS = (
    "Answer in British spelling from here on.",
    "Nothing leaves this machine: no uploads of any kind.",
    "Ask before a file is deleted.",
    "Amounts are in Swiss francs, two decimals.",
    "My mother's name stays out of every document.",
    "Keep the old endpoint alive until Marta says otherwise.",
    "Spend no more than forty francs on test calls.",
    "Whatever you change, the changelog says so in one line.",
    "Tables, not bullet points, please.",
    "The folder named attic is off the table.",
    "If two sources disagree, show both.",
    "Run the linter first, then the tests.",
    "Dates as day, month, year.",
    "You may read the ledger but not write to it.",
    "Explain each shell command before it runs.",
)
"""Rules as people put them, most without a word that announces a rule."""


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


@pytest.mark.slow
@pytest.mark.parametrize("place", ["top", "middle", "bottom"])
async def test_side_constraints_survive_wherever_they_were_said(place: str, count: Callable[[str], int]) -> None:
    """
    In front of a request of the user's, at the top, the middle or the bottom of a session: all of them verbatim.
    """
    jobs = []
    for number, text in enumerate(SIDE_CONSTRAINTS):
        rows = [dict(row) for row in conversation(number, rounds=12).rows]
        users = [index for index, row in enumerate(rows) if row["role"] == "user"]
        at = users[{"top": 0, "middle": len(users) // 2, "bottom": len(users) - 1}[place]]
        rows[at]["content"] = f"{text}\n{rows[at]['content']}"
        jobs.append(Job(rows, int(0.2 * sum(size(row, count) for row in rows))))
    lost = []
    number = 0
    async for sent in received(jobs, loaded_vocabulary()):
        if SIDE_CONSTRAINTS[number] not in visible(sent):
            lost.append(SIDE_CONSTRAINTS[number])
        number += 1

    assert (number, lost) == (len(SIDE_CONSTRAINTS), [])


@pytest.mark.slow
async def test_the_same_history_gives_the_same_bytes(count: Callable[[str], int]) -> None:
    """
    In another proxy, with another store: nothing that changes by itself is in what is sent.
    """
    rows = conversation(301).rows
    job = Job(rows, int(0.2 * sum(size(row, count) for row in rows)))
    runs = [[dumps(sent) async for sent in received([job], loaded_vocabulary())] for _ in range(2)]

    assert runs[0] == runs[1]


@pytest.mark.slow
async def test_four_compactions_lose_no_more_than_one(count: Callable[[str], int]) -> None:
    """
    As the conversation grows: at most two points less than one compaction at its end.
    """
    one = conversation(303, rounds=30)
    budget = int(0.2 * sum(size(row, count) for row in one.rows))
    starts = [start for start in group_starts(one.rows) if start > 1]
    stages = [one.rows[: starts[len(starts) * part // 4 - 1]] for part in (1, 2, 3)]
    once: dict[str, list[int]] = {}
    often: dict[str, list[int]] = {}
    tally(visible(await after_rounds([one.rows], budget, loaded_vocabulary())), one.facts, once)
    tally(visible(await after_rounds([*stages, one.rows], budget, loaded_vocabulary())), one.facts, often)

    kept, total = (sum(pair[which] for pair in once.values()) for which in (0, 1))
    assert sum(pair[0] for pair in often.values()) >= kept - 0.02 * total
