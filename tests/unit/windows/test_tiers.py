import pytest

from proxy.windows.tiers import TIERS, next_tier


@pytest.mark.parametrize(
    ("below", "tier"), [(3_000_000, 2_000_000), (128_000, 64_000), (131_072, 128_000), (4_001, 4_000), (4_000, None)]
)
def test_steps_to_the_largest_tier_below(below, tier):
    """
    A tier is always smaller than what was refused.
    """
    assert next_tier(below) == tier


def test_tiers_of_the_configuration_may_stand_in_any_order():
    """
    A list written upwards means the same.
    """
    assert next_tier(100, [10, 50, 20]) == 50


def test_tiers_go_down():
    """
    The list reads from large to small.
    """
    assert list(TIERS) == sorted(TIERS, reverse=True)
