from dataclasses import replace

import pytest

from proxy.windows.learned import Claim, LearnedLimits, is_plausible, occurs_in

DAY = 86_400.0
CLAIM = Claim(limit=32_000, credential="a", prompt=40_000, window=128_000)


def learned(*claims, now=0.0):
    limits = LearnedLimits()
    for claim in claims:
        limits = limits.learn(claim, now=now, ttl=DAY)
    return limits


def test_a_stated_limit_is_believed():
    """
    The provider knows its own window.
    """
    assert learned(CLAIM).limit_for("a", now=1.0) == 32_000


def test_a_limit_of_one_credential_is_not_believed_for_another():
    """
    Windows differ by plan; one client's refusal must not shrink another client's history.
    """
    assert learned(CLAIM).limit_for("b", now=1.0) is None


def test_two_credentials_that_agree_speak_for_all():
    """
    What two accounts are told is a property of the model.
    """
    limits = learned(CLAIM, replace(CLAIM, credential="b"))

    assert limits.limit_for("c", now=1.0) == 32_000


def test_two_credentials_that_differ_speak_for_themselves():
    """
    Different limits are limits of plans.
    """
    limits = learned(CLAIM, replace(CLAIM, credential="b", limit=64_000))

    assert (limits.limit_for("a", now=1.0), limits.limit_for("c", now=1.0)) == (32_000, None)


def test_a_limit_expires():
    """
    Providers raise windows.
    """
    assert learned(CLAIM).limit_for("a", now=DAY + 1) is None


@pytest.mark.parametrize(
    "change",
    [
        {"limit": 1_000},
        {"limit": 1_023},
        {"limit": 128_000},
        {"limit": 200_000},
        {"limit": 1_500, "prompt": 80_000},
        {"text": "the answer is 32000"},
        {"text": "about 32,000 people"},
    ],
)
def test_a_number_that_can_be_no_window_is_not_believed(change):
    """
    Too small, not smaller than what is believed, absurd beside the prompt, or an echo of the client's text.
    """
    claim = replace(CLAIM, **change)

    assert not is_plausible(claim)
    assert learned(claim) == LearnedLimits()


@pytest.mark.parametrize("text", ["132000", "320001", "32,0001", "3.2000", ""])
def test_a_number_inside_another_is_no_echo(text):
    """
    Only the whole number counts.
    """
    assert not occurs_in(32_000, text)


def test_a_limit_under_an_accepted_prompt_needs_a_second_statement():
    """
    Transient nonsense is stated once; a server that was started again with a smaller window says so every time.
    """
    served = LearnedLimits().accept(50_000, credential="a", now=0.0, ttl=DAY)
    once = served.learn(CLAIM, now=1.0, ttl=DAY)
    twice = once.learn(CLAIM, now=2.0, ttl=DAY)

    assert (once.limit_for("a", now=3.0), twice.limit_for("a", now=3.0)) == (None, 32_000)


def test_a_doubted_limit_leaves_the_one_in_force():
    """
    A doubt is a note, no change.
    """
    limits = learned(replace(CLAIM, limit=64_000)).accept(50_000, credential="a", now=0.0, ttl=DAY)

    assert limits.learn(CLAIM, now=1.0, ttl=DAY).limit_for("a", now=2.0) == 64_000


def test_a_served_prompt_refutes_a_smaller_limit():
    """
    What was answered fits.
    """
    limits = learned(CLAIM).accept(40_000, credential="a", now=1.0, ttl=DAY)

    assert limits.limit_for("a", now=2.0) is None


def test_a_served_prompt_of_another_credential_refutes_nothing():
    """
    Another plan may have another window.
    """
    limits = learned(CLAIM).accept(40_000, credential="b", now=1.0, ttl=DAY)

    assert limits.limit_for("a", now=2.0) == 32_000


def test_the_newest_statement_replaces_the_last():
    """
    A raised limit is taken up at once.
    """
    limits = learned(CLAIM, replace(CLAIM, limit=64_000))

    assert limits.limit_for("a", now=1.0) == 64_000


def test_survives_being_written_down():
    """
    A restart keeps what was learned.
    """
    limits = learned(CLAIM).accept(9_000, credential="b", now=0.0, ttl=DAY)

    assert LearnedLimits.from_dict(limits.to_dict()) == limits


@pytest.mark.parametrize("data", [{}, {"beliefs": 3, "accepted": []}, {"beliefs": [[1]], "accepted": []}])
def test_refuses_what_is_no_record_of_limits(data):
    """
    A damaged record is noticed.
    """
    with pytest.raises(ValueError):
        LearnedLimits.from_dict(data)
