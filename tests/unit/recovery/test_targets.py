from __future__ import annotations

import pytest

from proxy.recovery.attempt import Outcome, Situation
from proxy.recovery.fault import Fault, Label
from proxy.recovery.targets import (
    byte_target,
    clamped_output,
    long_tier_target,
    rate_target,
    shared_output,
    tier_target,
    token_target,
)
from proxy.windows.tiers import TIERS
from tests.unit.recovery.ladder_support import overflow

SITUATION = Situation(128_000)


def target(fault: Fault, *, sent: int = 100_000, size: int = 400_000, situation: Situation = SITUATION) -> int:
    return token_target(Outcome(fault, sent, size), situation, believed=situation.window_tokens, tiers=TIERS)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (overflow(limit=80_000, prompt=160_000), 50_000),
        (overflow(limit=80_000, total=170_000, output=10_000), 50_000),
        (overflow(limit=80_000), 80_000),
        (overflow(limit=120_000), 70_000),
        (overflow(limit=80_000, prompt=81_000, at_least=True), 80_000),
        (overflow(excess=20_000), 80_000),
        (overflow(), 64_000),
    ],
    ids=["scaled", "less the output", "stated", "stated above ours", "lower bound", "excess", "tier"],
)
def test_takes_the_best_number_there_is(fault: Fault, expected: int) -> None:
    """
    Their limit by their count, else their limit, else 0.7 of what was refused, else the next tier.
    """
    assert target(fault) == expected


def test_the_asked_output_is_not_part_of_their_prompt() -> None:
    """
    A total without parts includes the max_tokens that the request asked for.
    """
    situation = Situation(128_000, asked_output=20_000)

    assert target(overflow(limit=80_000, total=180_000), situation=situation) == 50_000


def test_characters_are_scaled_by_bytes() -> None:
    """
    A limit of a quarter of the body leaves a quarter of the tokens.
    """
    assert target(overflow(character_limit=100_000)) == 25_000


def test_a_tier_is_below_what_was_refused() -> None:
    """
    A window that is believed to be larger than the refused prompt does not hold the tier up.
    """
    rejected = Outcome(overflow(), 30_000, 1)

    assert tier_target(rejected, SITUATION, believed=128_000, tiers=TIERS) == 16_000


def test_below_the_last_tier_the_target_halves() -> None:
    """
    There is always a smaller one.
    """
    assert tier_target(Outcome(overflow(), 3_000, 1), SITUATION, believed=128_000, tiers=TIERS) == 1_500


def test_a_guess_stays_above_the_largest_accepted_prompt() -> None:
    """
    What was accepted once will be accepted again.
    """
    assert target(overflow(), situation=Situation(128_000, largest_accepted=90_000)) == 90_000


def test_a_stated_limit_beats_the_largest_accepted_prompt() -> None:
    """
    Models behind one name change.
    """
    situation = Situation(128_000, largest_accepted=90_000)

    assert target(overflow(limit=80_000), situation=situation) == 80_000


def test_a_refused_smaller_prompt_contradicts_the_largest_accepted_one() -> None:
    """
    The refusal of 100,000 says more than the acceptance of 120,000 some time ago.
    """
    assert target(overflow(), situation=Situation(128_000, largest_accepted=120_000)) == 64_000


def test_bytes_are_the_stated_limit_where_it_explains_the_refusal() -> None:
    """
    A limit above what was sent explains nothing; then it is halved.
    """
    fault = Fault(Label.PAYLOAD_TOO_LARGE, 413, byte_limit=500)

    assert byte_target(Outcome(fault, 1, 800), SITUATION) == (500, True)
    assert byte_target(Outcome(fault, 1, 400), SITUATION) == (200, False)


@pytest.mark.parametrize(("sent", "expected"), [(400_000, 200_000), (150_000, 105_000), (90_000, None)])
def test_long_tier_target_minds_that_counts_differ(sent: int, expected: int | None) -> None:
    """
    Our 150,000 may be their 210,000; our 90,000 is not.
    """
    assert long_tier_target(Outcome(Fault(Label.LONG_CONTEXT_TIER, 429), sent, 1)) == expected


@pytest.mark.parametrize(("asked", "expected"), [(0, 33_333), (10_000, 25_000), (30_000, None)])
def test_rate_target_leaves_room_for_the_output(asked: int, expected: int | None) -> None:
    """
    Rates count the asked output too; where it takes all, nothing is tried.
    """
    fault = Fault(Label.RATE_LIMIT, 429, rate_limit=30_000, total=90_000)

    assert rate_target(Outcome(fault, 100_000, 1), asked_output=asked) == expected


def test_a_rate_without_numbers_has_no_target() -> None:
    """
    There is nothing to aim at.
    """
    assert rate_target(Outcome(Fault(Label.RATE_LIMIT, 429), 1, 1), asked_output=0) is None


@pytest.mark.parametrize(
    ("fault", "asked", "expected"),
    [
        (overflow(limit=100_000, prompt=80_000), 30_000, 19_744),
        (overflow(limit=100_000, prompt=99_000), 30_000, None),
        (overflow(limit=100_000, prompt=90_000), None, 9_744),
        (overflow(limit=100_000, prompt=101, at_least=True), 30_000, 15_000),
        (overflow(), 30_000, 15_000),
        (overflow(), None, None),
        (overflow(limit=100_000, prompt=10_000), 500, None),
    ],
    ids=[
        "what is left",
        "too little left",
        "the server's default",
        "lower bound halves",
        "no numbers halves",
        "nothing asked",
        "fits",
    ],
)
def test_clamped_output(fault: Fault, asked: int | None, expected: int | None) -> None:
    """
    What the window leaves, where that is useful; half of the asked output where the numbers cannot be trusted.
    """
    assert clamped_output(fault, Situation(128_000, asked_output=asked)) == expected


def test_output_that_crowds_out_the_prompt_is_lowered_with_the_window() -> None:
    """
    32,000 of output in a window of 40,000 leaves no room for any compaction.
    """
    fault = overflow(limit=40_000, prompt=60_000, output=32_000)

    assert shared_output(fault, Situation(128_000, asked_output=32_000)) == 10_000
    assert shared_output(fault, Situation(128_000, asked_output=4_000)) is None
