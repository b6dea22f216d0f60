from __future__ import annotations

import re

import pytest

from proxy.recovery.fault import Label
from proxy.recovery.settings import PatternRule


@pytest.mark.parametrize(
    ("wanted", "status", "text", "expected"),
    [
        (400, 400, "the flux is too large", True),
        (400, 500, "the flux is too large", False),
        (None, 500, "the flux is too large", True),
        (None, None, "nothing of the kind", False),
    ],
)
def test_a_rule_asks_for_its_status_and_its_wording(
    wanted: int | None, status: int | None, text: str, *, expected: bool
) -> None:
    """
    A rule without a status matches any, also an error inside a stream, which has none.
    """
    rule = PatternRule(Label.CONTEXT_OVERFLOW, re.compile("flux"), wanted)

    assert rule.matches(status, text) is expected
