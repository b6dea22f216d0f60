from __future__ import annotations

from proxy.recovery.fault import Label
from proxy.recovery.normalise import normalise
from proxy.recovery.table import Rule


def matches(rule: Rule, body: bytes, status: int | None = 400) -> bool:
    return rule.matches(normalise(body), status)


def test_a_code_is_found_in_its_field() -> None:
    """
    Codes are compared whole.
    """
    rule = Rule(Label.AUTH, "", code="1261")

    assert matches(rule, b'{"code": 1261}')
    assert not matches(rule, b'{"code": 12610}')


def test_a_numeric_code_is_not_found_in_text() -> None:
    """
    1261 tokens are no error 1261.
    """
    assert not matches(Rule(Label.AUTH, "", code="1261"), b"you sent 1261 tokens")


def test_a_word_code_is_found_in_text() -> None:
    """
    Relays print the code into the message.
    """
    assert matches(Rule(Label.AUTH, "", code="too_long_input"), b"TOO_LONG_INPUT - try again")


def test_unless_rules_a_match_out() -> None:
    """
    The exception beats the pattern.
    """
    rule = Rule(Label.AUTH, "", pattern="too long", unless="name")

    assert matches(rule, b"prompt too long")
    assert not matches(rule, b"name too long")


def test_a_status_alone_is_a_rule() -> None:
    """
    Without wording or code the status speaks.
    """
    rule = Rule(Label.AUTH, "", status=402)

    assert matches(rule, b"", status=402)
    assert not matches(rule, b"", status=400)
