import pytest

from proxy.compaction.budget import Budget, Ratios


def test_the_target_is_a_share_of_what_the_threshold_leaves():
    """
    F + 0.40 x (threshold - F): the fixed part cannot shrink, so it is no part of what is aimed at.
    """
    assert Budget(window=200_000, usable=196_000, threshold=100_000, fixed=10_000).target == 46_000


def test_a_fixed_part_above_the_threshold_leaves_no_room():
    """
    Room never turns negative.
    """
    budget = Budget(window=10_000, usable=9_000, threshold=5_000, fixed=6_000)

    assert budget.room == 0
    assert budget.target == 6_000


def test_the_tail_is_a_share_of_the_threshold():
    """
    0.20 of the threshold, and half as much again as a ceiling.
    """
    budget = Budget(window=200_000, usable=196_000, threshold=100_000, fixed=2_000)

    assert budget.tail == 20_000
    assert budget.tail_ceiling == 30_000


def test_a_large_fixed_part_leaves_the_tail_less():
    """
    Tail and summary share what the target leaves; the tail takes 60 % of it at most.
    """
    budget = Budget(window=200_000, usable=196_000, threshold=100_000, fixed=80_000)

    assert budget.tail == int(20_000 * 0.4 * 0.6)


@pytest.mark.parametrize(
    ("window", "middle", "tokens"),
    [
        (200_000, 4_000, 2_000),
        (200_000, 20_000, 4_000),
        (200_000, 100_000, 10_000),
        (1_000_000, 500_000, 12_000),
        (32_000, 20_000, 2_000),
        (8_000, 6_000, 800),
        (1_024, 800, 102),
    ],
)
def test_a_summary_has_a_fifth_of_the_middle_within_bounds(window, middle, tokens):
    """
    At least 2,000, at most 12,000, at most 5 % of the window; in small windows at most 10 % of it.
    """
    budget = Budget(window=window, usable=window, threshold=window // 2, fixed=0)

    assert budget.summary(middle) == tokens


def test_no_summary_exceeds_what_the_target_leaves_beside_head_and_tail():
    """
    Target less fixed less kept.
    """
    budget = Budget(window=200_000, usable=196_000, threshold=100_000, fixed=0)

    assert budget.summary_ceiling(15_000) == 25_000


def test_a_full_target_still_leaves_a_short_summary():
    """
    400 tokens, or a fifth of a tiny room.
    """
    budget = Budget(window=200_000, usable=196_000, threshold=100_000, fixed=0)
    tiny = Budget(window=1_024, usable=922, threshold=700, fixed=300)

    assert budget.summary_ceiling(90_000) == 400
    assert tiny.summary_ceiling(900) == 80


def test_ratios_shape_the_target_and_the_tail():
    """
    Both are settings.
    """
    ratios = Ratios(target=0.5, tail=0.1)
    budget = Budget(window=200_000, usable=196_000, threshold=100_000, fixed=0, ratios=ratios)

    assert (budget.target, budget.tail) == (50_000, 10_000)


def test_rows_that_stay_are_beside_the_target_as_the_fixed_part_is() -> None:
    """
    F + held + 0.40 x what is left; tail and summary are shares of that, too.
    """
    budget = Budget(window=200_000, usable=196_000, threshold=100_000, fixed=10_000).holding(50_000)

    assert (budget.room, budget.target) == (40_000, 76_000)
    assert budget.tail == int(40_000 * 0.4 * 0.6)
    assert budget.summary_ceiling(6_000) == 10_000


def test_rows_that_the_tail_has_room_for_change_nothing() -> None:
    """
    They are kept anyway.
    """
    budget = Budget(window=200_000, usable=196_000, threshold=100_000, fixed=10_000)

    assert budget.holding(budget.tail) == budget


def test_rows_that_stay_never_take_all_the_room() -> None:
    """
    However large they are, a quarter of it is left to what is folded.
    """
    budget = Budget(window=200_000, usable=196_000, threshold=100_000, fixed=20_000).holding(500_000)

    assert budget.room == 20_000
