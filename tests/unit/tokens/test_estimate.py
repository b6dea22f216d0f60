from math import log

import pytest

from proxy.tokens.estimate import estimate
from tests.unit.tokens.texts import texts

TEXTS = texts(12_000)
TOLERANCE = 0.25


def error(guess, truth):
    return abs(log(guess / truth))


@pytest.mark.parametrize("kind", TEXTS)
def test_is_near_the_truth_on_every_kind_of_text(vocabulary, kind):
    """
    Within a quarter, where four characters a token may be wrong by a factor of five.
    """
    truth = vocabulary.count(TEXTS[kind])

    assert abs(estimate(TEXTS[kind]) / truth - 1) <= TOLERANCE


@pytest.mark.parametrize("kind", TEXTS)
def test_is_no_worse_than_four_characters_a_token(vocabulary, kind):
    """
    On no kind of text is the rule of thumb better by more than measure and chance (3 %).
    """
    truth = vocabulary.count(TEXTS[kind])

    assert error(estimate(TEXTS[kind]), truth) <= error(len(TEXTS[kind]) / 4, truth) + 0.03


def test_is_four_times_better_over_all(vocabulary):
    """
    The mean error over all kinds of text, against that of the rule of thumb.
    """
    truths = {kind: vocabulary.count(text) for kind, text in TEXTS.items()}
    ours = sum(error(estimate(text), truths[kind]) for kind, text in TEXTS.items())
    theirs = sum(error(len(text) / 4, truths[kind]) for kind, text in TEXTS.items())

    assert ours * 4 <= theirs


@pytest.mark.parametrize("text", ["a" * 20_000, " " * 20_000, "\n" * 20_000, "=" * 20_000, "🎉" * 9_000])
def test_endless_runs_are_estimated_within_a_factor_of_five(vocabulary, text):
    """
    A run is many characters and few tokens.
    """
    assert 1 / 5 <= estimate(text) / vocabulary.count(text) <= 5


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), (" ", 1), ("\x00", 1)])
def test_the_smallest_texts(text, tokens):
    """
    Text is at least a token, no text is none.
    """
    assert estimate(text) == tokens
