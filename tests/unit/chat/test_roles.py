import pytest

from proxy.chat.roles import Violation, has_prefill, is_visible, violations
from tests.support.conversations import assistant, call, calls, developer, result, system, user


def test_templates_see_users_and_answers_alone():
    """
    Call rows, results and system rows are skipped.
    """
    assert [is_visible(row) for row in (user(), assistant(), call("f"), result(), system(), {})] == [True, True] + [
        False
    ] * 4


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [user()],
        [system(), developer(), user(), assistant(), user()],
        [user(), call("f"), result(), assistant(), user()],
        [user(), calls(("f", "x", {}), ("g", "y", {})), result("y"), result("x"), call("f"), result()],
        [user(), calls(("f", "x", {}), ("g", "y", {})), {"role": "tool"}, {"role": "tool"}, assistant()],
        [user(), calls(("f", "x", {}), ("f", "x", {})), result("x"), result("x"), assistant()],
        [user(), calls(("f", "x", {}), ("f", "x", {})), result("x"), assistant()],
    ],
)
def test_legal_rows_break_no_rule(rows):
    """
    Parallel results in any order, reused ids, results without ids.
    """
    assert violations(rows) <= {Violation.NO_USER_ROW}
    assert bool(rows) or violations(rows) == {Violation.NO_USER_ROW}


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([user(), result(), assistant()], Violation.ORPHAN_RESULT),
        ([user(), call("f"), result("a"), result("b"), assistant()], Violation.ORPHAN_RESULT),
        ([user(), call("f"), result("a"), result("a"), assistant()], Violation.DUPLICATE_RESULT),
        ([user(), call("f"), assistant()], Violation.UNANSWERED_CALL),
        ([user(), calls(("f", "x", {}), ("g", "y", {})), result("x"), assistant()], Violation.UNANSWERED_CALL),
        ([user(), call("f")], Violation.OPEN_CALL_AT_END),
        ([assistant(), user()], Violation.FIRST_ROW_NOT_USER),
        ([system(), call("f"), result(), user()], Violation.FIRST_ROW_NOT_USER),
        ([user(), user()], Violation.ALTERNATION),
        ([user(), system(), user()], Violation.ALTERNATION),
        ([user(), call("f"), result(), user()], Violation.ALTERNATION),
        ([user(), assistant(), call("f"), result(), assistant()], Violation.ALTERNATION),
    ],
)
def test_every_rule_is_told_by_name(rows, kind):
    """
    One broken rule, one kind.
    """
    assert violations(rows) == {kind}


def test_rows_without_a_user_break_two_rules():
    """
    "No user query found", and the first row.
    """
    assert violations([call("f"), result()]) == {Violation.FIRST_ROW_NOT_USER, Violation.NO_USER_ROW}


def test_a_result_must_follow_its_call_at_once():
    """
    Adjacency: a user row between them breaks both.
    """
    rows = [user(), call("f"), user("wait"), result()]

    assert {Violation.UNANSWERED_CALL, Violation.ORPHAN_RESULT} <= violations(rows)


def test_a_prefill_is_an_assistant_row_at_the_end_that_calls_nothing():
    """
    The beginning of the answer.
    """
    assert has_prefill([user(), assistant()])
    assert not has_prefill([user(), call("f")])
    assert not has_prefill([assistant(), user()])
    assert not has_prefill([])
