from __future__ import annotations

from proxy.recovery.attempt import Attempt


def test_a_first_attempt_is_always_worth_sending() -> None:
    """
    Nothing was refused yet.
    """
    assert Attempt().worth_sending(tokens=10**9, size=10**9)


def test_scores_in_the_unit_that_failed() -> None:
    """
    Bytes do not matter to an overflow, nor tokens to a 413.
    """
    assert Attempt(ceiling_tokens=95).worth_sending(tokens=95, size=10**9)
    assert not Attempt(ceiling_tokens=95).worth_sending(tokens=96, size=0)
    assert Attempt(ceiling_bytes=95).worth_sending(tokens=10**9, size=95)
    assert not Attempt(ceiling_bytes=95).worth_sending(tokens=0, size=96)
