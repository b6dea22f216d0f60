"""
Strict roles and pairs, for any rows at all.
"""

from __future__ import annotations

import json

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from proxy.chat.messages import leading_system_rows
from proxy.chat.roles import has_prefill, violations
from proxy.compaction.repair import make_strict, repair_pairs
from proxy.compaction.validate import validate
from proxy.simulator.rules import judge
from tests.property.strategies import any_rows, conversations

PURE = settings(
    max_examples=30, derandomize=True, deadline=None, database=None, phases=[Phase.explicit, Phase.generate]
)
STRUCTURE = {"open_call", "orphan_result", "duplicate_result", "first_row", "alternation"}
LEADING = st.lists(
    st.sampled_from([{"role": "system", "content": "s"}, {"role": "developer", "content": "d"}]), max_size=2
)
"""What may stand before the first turn."""


@PURE
@given(LEADING, conversations())
def test_strict_rows_break_no_rule(leading, rows):
    """
    Whatever the client sent, neither judge finds anything about structure in what strict servers get.
    """
    strict = make_strict([*leading, *rows])

    assert violations(strict) == frozenset()
    assert not {fault.kind for fault in judge(strict, alternation=True)} & STRUCTURE
    validate(strict, [*leading, *rows], strict=True)


@PURE
@given(any_rows())
def test_making_rows_strict_twice_changes_nothing(rows):
    """
    Strict rows are a fixed point.
    """
    once = make_strict(rows)

    assert make_strict(once) == once


@PURE
@given(any_rows())
def test_strict_rows_keep_every_text_of_users(rows):
    """
    Turns are joined, never dropped.
    """
    strict = json.dumps(make_strict(rows))

    for row in rows:
        if row["role"] == "user" and isinstance(row["content"], str):
            assert json.dumps(row["content"])[1:-1] in strict


@PURE
@given(LEADING, conversations())
def test_a_prefill_stays_last_and_is_the_clients_own_object(leading, rows):
    """
    The model goes on from exactly those bytes.
    """
    if has_prefill(rows):
        assert make_strict([*leading, *rows])[-1] is rows[-1]


@PURE
@given(any_rows())
def test_repaired_pairs_are_whole_but_for_what_the_client_left_open(rows):
    """
    Repair leaves no orphan and no second result; only the end may stay open.
    """
    found = {str(kind) for kind in violations(repair_pairs(rows))}

    assert not found & {"a tool result without its call", "two results for one call", "a call without its result"}


@PURE
@given(any_rows())
def test_leading_system_rows_stay_first(rows):
    """
    Nothing is put before the system prompt.
    """
    system = [{"role": "system", "content": "rules"}]
    strict = make_strict([*system, *rows])

    assert strict[0] is system[0]
    assert leading_system_rows(strict) >= 1
