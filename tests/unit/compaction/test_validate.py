import pytest

from proxy.compaction.handover import restate, wrap
from proxy.compaction.validate import validate
from proxy.errors import IllegalPlanError
from tests.support.conversations import assistant, call, result, system, user

SUMMARY = user(wrap("## Goal\nx"))
MARK = {"type": "ephemeral"}


def refused(planned, own, **given):
    """
    Return the reasons why a plan is refused.
    """
    with pytest.raises(IllegalPlanError) as caught:
        validate(planned, own, **given)
    return str(caught.value)


def test_a_legal_plan_passes():
    """
    Summary, then what is live.
    """
    own = [user("a"), assistant("b"), user("c")]

    validate([user(f"{wrap('s')}\n\nc")], own)


def test_what_the_client_breaks_itself_is_no_fault_of_the_plan():
    """
    Only what is introduced counts.
    """
    own = [assistant("a"), assistant("b"), user("c")]

    validate([assistant("b"), user("c")], own)


@pytest.mark.parametrize(
    ("planned", "reason"),
    [
        ([user("a"), result("x"), assistant("b"), user("c")], "without its call"),
        ([user("a"), call("f"), user("c")], "without its result"),
        ([assistant("b"), user("c")], "no user row"),
        ([user("a"), user("c")], "two turns of one role"),
        ([], "no rows"),
    ],
)
def test_every_violation_that_is_introduced_is_refused(planned, reason):
    """
    A plan that is not legal is never sent.
    """
    assert reason in refused(planned, [user("a"), assistant("b"), user("c")])


def test_a_plan_without_an_ask_is_refused():
    """
    "No user query found": a summary with nothing live after it.
    """
    own = [user("a"), call("f"), result()]

    assert "no user text after the summary" in refused([SUMMARY, call("f"), result()], own)
    validate([user(f"{wrap('s')}\n\n{restate('a')}"), call("f"), result()], own)


def test_without_an_ask_of_the_client_none_is_wanted():
    """
    A session without a user row.
    """
    validate([SUMMARY, call("f"), result()], [call("f"), result(), call("f"), result()])


def test_the_prefill_is_last_and_the_clients_own_object():
    """
    The model goes on from exactly those bytes.
    """
    prefill = assistant("The answer is")
    own = [user("a"), assistant("b"), user("c"), prefill]

    validate([user("c"), prefill], own)
    assert "the prefill is not last" in refused([user("c"), dict(prefill)], own)
    assert "the prefill is not last" in refused([user("c")], own)


def test_at_most_four_cache_marks_are_sent():
    """
    Unless the client has more itself.
    """
    marked = {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": MARK}] * 5}

    assert "too many cache marks" in refused([marked], [user("a")])
    validate([marked], [marked])


def test_marks_of_rows_count_too():
    """
    Some clients put them beside the content.
    """
    rows = [{**(user if n % 2 else assistant)("a"), "cache_control": MARK} for n in range(1, 6)]

    assert "too many cache marks" in refused(rows, [user("a")])


def test_strict_roles_excuse_nothing():
    """
    What the client breaks itself is refused too.
    """
    own = [system(), user("a"), user("b")]

    assert "two turns of one role" in refused(own, own, strict=True)
    validate(own, own)
