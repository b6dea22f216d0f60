from __future__ import annotations

from proxy.recovery import refusals
from proxy.recovery.rules import PRECEDENCE
from proxy.recovery.table import Rule


def test_every_table_has_its_place_in_the_precedence() -> None:
    """
    A table that nobody asks is a table that nobody misses.
    """
    asked = {id(rule) for table in PRECEDENCE for rule in table}
    tables = [
        value for value in vars(refusals).values() if isinstance(value, tuple) and value and isinstance(value[0], Rule)
    ]

    assert [rule.example for table in tables for rule in table if id(rule) not in asked] == []
