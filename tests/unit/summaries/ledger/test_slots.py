import pytest

from proxy.summaries.ledger.lexicon import Lexicon
from proxy.summaries.ledger.roles import find_turns, weigh
from proxy.summaries.ledger.slots import successors
from proxy.summaries.ledger.units import read
from tests.support.summaries import assistant, user


def replaced(*texts: str) -> dict[int, int]:
    rows = [assistant(text) if n % 2 else user(text) for n, text in enumerate(texts)]
    lexicon, reading, turns = Lexicon(), read(rows), find_turns(rows, live=True)
    features = [lexicon.features(unit.text) for unit in reading.units]
    candidates = [weigh(u, f, lexicon, turns=turns, calls=()) for u, f in zip(reading.units, features, strict=True)]
    return successors(candidates, lexicon, lexicon.weights(features))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The timeout is 30s.", "The timeout is now 45s."),
        ("Set the retry limit to 300.", "Change the retry limit to 700 instead."),
        ("上传超时是 30 秒，见 conf_a。", "上传超时改为 45 秒，见 conf_a。"),
    ],
)
def test_a_later_value_replaces_an_earlier_one(old, new):
    """The same thing by its words, another exact value, and a sign of change."""
    assert replaced(old, new) == {0: 1}


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("The timeout is 30s.", "The colour is now 45s."),
        ("The timeout is 30s.", "The timeout is now 30s."),
        ("The timeout of the loader is long.", "The timeout of the loader is now short."),
        ("Port 5512 serves alpha.", "Port 6612 serves beta."),
    ],
)
def test_other_statements_replace_nothing(one, two):
    """Other things, the same value, no exact value, no sign of change."""
    assert replaced(one, two) == {}


def test_a_chain_leads_to_the_newest():
    """Each value points to the last that replaced it."""
    found = replaced("The timeout is 30s.", "The timeout is now 45s.", "The timeout is now 60s.")

    assert found == {0: 2, 1: 2}
