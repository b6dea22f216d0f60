"""
Floors for what survives: a fast sample of what ``bench/bench_quality.py`` measures in full.
"""

import time
from functools import lru_cache

import pytest

from bench.quality.generated import Conversation, conversation
from bench.quality.measure import tally
from bench.quality.real import cases
from bench.quality.views import extractive, holds, size
from proxy.tokens.vocabulary import Vocabulary
from tests.support.shared import shared_file

USER_KINDS = ("constraint", "correction", "preference", "pending")
FIRM_KINDS = ("decision", "file", "todo")
TOOL_KINDS = ("error", "id", "number", "needle")
BUDGET = 0.20


@pytest.fixture(scope="module")
def count():
    vocabulary = Vocabulary()
    vocabulary.load()
    return lru_cache(maxsize=None)(vocabulary.count)


@pytest.fixture(scope="module", params=["plain", "other"])
def found(request, count):
    kept: dict[str, list[int]] = {}
    for seed in (101, 102):
        one = conversation(seed, bank=request.param, rounds=30)
        tally(view_of(one, count), one.facts, kept)
    return kept


def view_of(one: Conversation, count, *, share: float = BUDGET, rows=None) -> str:
    tokens = sum(size(row, count) for row in one.rows)
    return extractive(rows or one.rows, int(share * tokens), count)


@pytest.mark.slow
@pytest.mark.parametrize("kind", USER_KINDS)
def test_what_people_said_survives(found, kind):
    """Rules, corrections, preferences and asks for later: all of them."""
    kept, total = found[kind]

    assert kept == total


@pytest.mark.slow
@pytest.mark.parametrize("kind", FIRM_KINDS)
def test_decisions_files_and_plans_survive(found, kind):
    """At least 95 %."""
    kept, total = found[kind]

    assert kept >= 0.95 * total


@pytest.mark.slow
def test_facts_in_tool_output_survive(found):
    """At least 85 % of errors, ids, numbers and remarks, among other lines as odd as they are."""
    kept = sum(found[kind][0] for kind in TOOL_KINDS)

    assert kept >= 0.85 * sum(found[kind][1] for kind in TOOL_KINDS)


@pytest.mark.slow
def test_an_old_value_never_stands_alone(found):
    """Where a value was replaced the new one is there too."""
    assert found["stale alone"][0] == 0


@pytest.mark.slow
def test_four_rounds_lose_no_more_than_one(count):
    """Each round works from the originals, so the last is as good as a first."""
    one = conversation(103, rounds=30)
    once: dict[str, list[int]] = {}
    often: dict[str, list[int]] = {}
    views = [view_of(one, count, rows=one.rows[: len(one.rows) * part // 4]) for part in (1, 2, 3, 4)]
    tally(views[-1], one.facts, often)
    tally(view_of(one, count), one.facts, once)

    total = sum(pair[1] for pair in once.values())
    assert sum(pair[0] for pair in often.values()) >= sum(pair[0] for pair in once.values()) - 0.02 * total


@pytest.mark.slow
def test_values_used_later_survive_in_recorded_conversations(count):
    """Half way through: at least 82 % of all that the assistant uses again, 62 % of what is in neither head nor tail."""
    folder = shared_file("data/conversations")
    every, hard = [], []
    for case in cases(folder, count, cuts=(0.5,)):
        if case.tokens < 20_000:
            view = extractive(case.rows, int(BUDGET * case.tokens), count)
            kept = [(holds(view, needle), is_hard) for needle, is_hard in case.needles]
            every += [survives for survives, _ in kept]
            hard += [survives for survives, is_hard in kept if is_hard]

    assert sum(every) >= 0.82 * len(every)
    assert sum(hard) >= 0.62 * len(hard)


@pytest.mark.slow
def test_costs_about_a_second_for_100k_tokens(count):
    """CPU time, generous for slow machines: three times the target."""
    rows = [row for seed in (1, 2) for row in conversation(seed).rows]
    tokens = sum(size(row, count) for row in rows)
    start = time.process_time()
    extractive(rows, int(BUDGET * tokens), count)

    assert time.process_time() - start < 3e-5 * tokens
