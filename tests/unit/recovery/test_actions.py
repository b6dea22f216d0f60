from __future__ import annotations

from proxy.recovery.actions import ACTIONS, Cure, Verdict, cure_of, uncured
from proxy.recovery.fault import Fault, Label


def test_every_label_has_its_action() -> None:
    """
    A label without a row would be answered by a traceback.
    """
    assert set(ACTIONS) == set(Label)


def test_only_what_is_too_large_ends_as_a_give_up() -> None:
    """
    Everything else passes as the upstream said it.
    """
    given_up = {label for label, action in ACTIONS.items() if action.uncured is Verdict.GIVE_UP}

    assert given_up == {Label.CONTEXT_OVERFLOW, Label.PAYLOAD_TOO_LARGE}


def test_a_refusal_without_a_reason_needs_a_full_window() -> None:
    """
    At 80 % of the believed window it is taken for an overflow.
    """
    fault = Fault(Label.INVALID_REQUEST_OTHER, 400, confident=False)

    assert cure_of(fault, fullness=0.80) is Cure.SHRINK_TOKENS
    assert cure_of(fault, fullness=0.79) is Cure.PASS


def test_an_empty_413_needs_no_full_window() -> None:
    """
    Its bytes may be too many at any number of tokens.
    """
    assert cure_of(Fault(Label.PAYLOAD_TOO_LARGE, 413, confident=False), fullness=0.1) is Cure.SHRINK_BYTES


def test_an_unexplained_refusal_passes_uncured() -> None:
    """
    We do not know that it was an overflow, so we do not say so.
    """
    assert uncured(Fault(Label.CONTEXT_OVERFLOW, 400, confident=False)) is Verdict.PASS
