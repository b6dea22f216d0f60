from __future__ import annotations

import pytest

from proxy.recovery.classify import classify
from proxy.recovery.normalise import normalise
from proxy.recovery.rules import PRECEDENCE
from proxy.recovery.table import Rule

RULES = [rule for table in PRECEDENCE for rule in table]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.label}: {rule.example}"[:70])
def test_matches_its_own_example(rule: Rule) -> None:
    """
    The example in a row is one that the row itself matches.
    """
    assert rule.matches(normalise(rule.example.encode()), rule.status or 400)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.label}: {rule.example}"[:70])
def test_precedence_keeps_the_label_of_the_example(rule: Rule) -> None:
    """
    No earlier row takes an example away from its label.
    """
    assert classify(rule.status or 400, rule.example.encode()).label is rule.label


def test_no_two_rows_share_an_example() -> None:
    """
    A row that needs another row's example adds nothing.
    """
    examples = [rule.example for rule in RULES]

    assert len(examples) == len(set(examples))
