import pytest

from proxy.windows.reserve import reserve, threshold, usable


@pytest.mark.parametrize(
    ("window", "asked", "kept"),
    [
        (128_000, 1_000, 1_000),
        (128_000, 64_000, 32_000),
        (128_000, None, 4_096),
        (8_000, None, 800),
        (8_000, 0, 0),
        (8_000, -5, 0),
    ],
)
def test_keeps_what_was_asked_up_to_a_quarter(window, asked, kept):
    """
    A client that asks for half the window does not halve its history; one that asks nothing still gets an answer.
    """
    assert reserve(window, asked) == kept


def test_usable_is_what_the_reserve_leaves():
    """
    Prompt and reserve fill the window.
    """
    assert usable(128_000, 8_000) == 120_000


@pytest.mark.parametrize(
    ("window", "given", "size"),
    [
        (200_000, {"percent": 0.5}, 100_000),
        (100_000, {"percent": 0.5}, 64_000),
        (32_000, {"percent": 0.5}, 24_480),
        (200_000, {"percent": 1.0}, 166_518),
        (200_000, {"percent": 0.5, "absolute": 5_000}, 5_000),
        (200_000, {"percent": 0.5, "absolute": 190_000}, 190_000),
        (200_000, {"percent": 0.5, "absolute": 400_000}, 195_904),
    ],
)
def test_threshold_is_a_share_with_a_floor_and_a_ceiling(window, given, size):
    """
    The floor yields to 85 % of what is usable; an absolute threshold yields only to what is usable.
    """
    assert threshold(window, usable(window), minimum=64_000, **given) == size
