import pytest

from proxy.pipeline.settings import RecoverySettings
from proxy.recovery.attempt import Attempt, Outcome, Rung, Situation
from proxy.recovery.climb import Climb, lower
from tests.unit.recovery.ladder_support import overflow

START = Climb(Situation(128_000), RecoverySettings(), Attempt())


@pytest.mark.parametrize(
    ("before", "now", "expected"), [(None, None, None), (5, None, 5), (None, 5, 5), (5, 3, 3), (3, 5, 3)]
)
def test_targets_only_go_down(before, now, expected):
    """
    A later guess never takes back an earlier one.
    """
    assert lower(before, now) == expected


def test_a_skipped_attempt_is_no_refusal():
    """
    What was last refused stays what the next attempt is measured by.
    """
    refused = START.after(Outcome(overflow(limit=8_000), sent_tokens=9_000))
    skipped = refused.after(Outcome(skipped=True))

    assert (skipped.refused, skipped.was_skipped) == (refused.refused, True)


def test_harder_keeps_the_number_of_the_try():
    """
    Nothing was sent, so no try is used up.
    """
    climb = START.after(Outcome(overflow(limit=8_000), sent_tokens=9_000))
    compact = climb.smaller(window=8_000)
    assert compact is not None
    squeezed = Climb(climb.situation, climb.settings, compact, climb.refused).harder()

    assert squeezed is not None
    assert (squeezed.rung, squeezed.number) == (Rung.SQUEEZE, compact.number)
