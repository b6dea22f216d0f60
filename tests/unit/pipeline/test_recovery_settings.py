from __future__ import annotations

import pytest
from pydantic import ValidationError

from proxy.pipeline.settings import PatternRule, RecoverySettings


def test_tiers_are_kept_in_falling_order() -> None:
    """
    However they are written, the ladder walks them down.
    """
    assert RecoverySettings(tiers=(8_000, 64_000, 8_000)).tiers == (64_000, 8_000)


def test_tiers_are_sizes() -> None:
    """
    A tier of nothing is a mistake.
    """
    with pytest.raises(ValidationError):
        RecoverySettings(tiers=(0,))


def test_a_broken_regex_is_a_mistake_of_the_settings() -> None:
    """
    It is told at start-up, not at the first error.
    """
    with pytest.raises(ValidationError):
        PatternRule(regex="(", label="context_overflow")


def test_durations_are_written_as_people_write_them() -> None:
    """
    ``5m`` is 300 seconds.
    """
    assert RecoverySettings(deadline="5m", limit_ttl="1d").deadline == 300.0


def test_more_tries_than_four_are_not_accepted() -> None:
    """
    At most four upstream tries is a promise, not a default.
    """
    with pytest.raises(ValidationError):
        RecoverySettings(max_attempts=5)
