import pytest

from proxy.chat.groups import group_starts
from proxy.compaction.bound import TailRule, head_end, tail_start
from proxy.compaction.handover import is_real_ask, restate, wrap
from tests.support.conversations import assistant, call, calls, image, result, system, user

COST = 10
"""Every row costs this much here."""


def tail(history, *, budget, ceiling=None, **rule):
    """
    Return where the tail of rows of equal cost begins.
    """
    return tail_start(history, [COST] * len(history), TailRule(budget, ceiling or budget * 3 // 2, **rule))


def chat(turns):
    """
    Return user and assistant rows in turn, ending on a user row.
    """
    return [row for number in range(turns) for row in (user(f"ask {number}"), assistant(f"answer {number}"))][:-1]


def test_the_walk_stops_at_the_budget():
    """
    From the end, as many rows as fit; never an answer without its ask where the ceiling holds both.
    """
    assert tail(chat(10), budget=70) == 12
    assert tail(chat(10), budget=60) == 12
    assert tail(chat(10), budget=60, ceiling=60) == 13


def test_what_fits_whole_is_tail_whole():
    """
    Nothing is folded that needs no folding.
    """
    assert tail(chat(3), budget=500) == 0


def test_no_tool_round_is_split():
    """
    A result whose call was folded is an orphan: 400.
    """
    rows = [
        user("ask"),
        *[row for n in range(8) for row in (calls(("f", "a", {}), ("g", "b", {})), result("a"), result("b"))],
    ]

    for budget in range(0, 300, 10):
        assert tail(rows, budget=budget) in group_starts(rows)


def test_a_pending_round_is_kept_even_above_the_ceiling():
    """
    Dropping results the model has not read made agents repeat side effects.
    """
    rows = [user("ask"), assistant("ok"), user("go"), calls(*[("f", str(n), {}) for n in range(20)])]
    rows += [result(str(n)) for n in range(20)]

    assert tail(rows, budget=30) == 3


def test_the_ceiling_bounds_alignment():
    """
    An old round that is larger than the ceiling allows stays folded.
    """
    rows = [
        user("ask"),
        call("f"),
        *[result() for _ in range(30)],
        assistant("done"),
        user("next"),
        assistant("x"),
        user("y"),
    ]

    assert tail(rows, budget=60, ceiling=90) == len(rows) - 4


def test_at_least_three_rows_stay_while_the_ceiling_holds():
    """
    One huge last row does not make a tail of one.
    """
    rows = chat(6)

    assert tail(rows, budget=10, ceiling=40) <= len(rows) - 3


def test_the_last_two_user_rounds_stay_while_the_ceiling_holds():
    """
    Whatever the number of rows in them.
    """
    rows = [
        *chat(6)[:-1],
        user("first of two"),
        *[r for _ in range(3) for r in (call("f"), result())],
        assistant(),
        user("last"),
    ]

    assert rows[tail(rows, budget=30, ceiling=200)]["content"] == "first of two"


def test_the_latest_ask_is_reached_while_the_ceiling_holds():
    """
    Alignment once moved the cut past it: the request was lost.
    """
    rows = [*chat(5), *[r for _ in range(4) for r in (call("f"), result())]]

    assert tail(rows, budget=40, ceiling=90) <= 8


def test_the_latest_ask_is_left_where_the_ceiling_is_reached():
    """
    One ask and hundreds of tool rows made a tail of twenty times its budget.
    """
    rows = [user("ask"), *[r for _ in range(200) for r in (call("f"), result())]]

    assert len(rows) - tail(rows, budget=100) <= 15


def test_the_latest_answer_is_an_anchor():
    """
    The text the user refers to.
    """
    rows = [*chat(4), assistant("the plan"), user("")]

    assert rows[tail(rows, budget=10, ceiling=20, rows=1, user_rounds=1)]["content"] == "the plan"


def test_a_prefill_is_never_folded():
    """
    It is the beginning of the answer.
    """
    assert tail([*chat(5), assistant("The answer is")], budget=1) == 9


def test_the_cut_moves_back_to_where_the_summary_stands_for_a_user_turn():
    """
    Behind a text answer, call rows and a user row would follow the summary: two user turns for strict templates.
    """
    rows = [
        user("a"),
        assistant("b"),
        user("c"),
        assistant("text first"),
        call("f"),
        result(),
        user("interrupts"),
        assistant("d"),
    ]

    assert tail([*rows, user("e")], budget=50, ceiling=70) == 2
    assert tail([*rows, user("e")], budget=50, ceiling=60) == 3


def test_the_cut_moves_back_from_a_system_row():
    """
    A reminder in the middle is an ordinary row, but no place for the summary to stand before.
    """
    rows = [user("a"), assistant("b"), system("reminder"), user("c"), assistant("d")]

    assert tail(rows, budget=30, ceiling=45, rows=1, user_rounds=1) == 1


def test_stray_results_at_the_end_stay_together():
    """
    A cut between them would be no group start.
    """
    rows = [user("a"), assistant("b"), result("x"), result("y")]

    assert tail(rows, budget=10, ceiling=10) in group_starts(rows)


def test_no_rows_have_no_tail():
    """
    A request of system rows alone.
    """
    assert tail_start([], [], TailRule(10, 15)) == 0


@pytest.mark.parametrize("budget", range(0, 200, 7))
def test_every_cut_is_legal_and_something_follows_it(budget):
    """
    For any budget.
    """
    rows = [
        *chat(3),
        call("f"),
        result(),
        system("note"),
        assistant("x"),
        user("y"),
        calls(("f", "1", {}), ("g", "2", {})),
    ]
    cut = tail(rows, budget=budget)

    assert cut in group_starts(rows)
    assert cut < len(rows)


def test_the_head_is_the_first_exchange():
    """
    protect_first_n = 3, the system row counted.
    """
    assert head_end(chat(5), protect_first=3, has_system=True) == 2


def test_the_head_moves_forward_past_tool_rounds_to_the_answer():
    """
    The exchange closes with the text that answers the ask.
    """
    rows = [user("ask"), call("f"), result(), call("g"), result(), assistant("done"), user("next"), assistant("x")]

    assert head_end(rows, protect_first=3, has_system=True) == 6


def test_an_exchange_that_never_closes_is_no_head():
    """
    A summary after an open ask or a tool round would be a second user turn.
    """
    loop = [user("ask"), *[r for _ in range(5) for r in (call("f"), result())]]

    assert head_end(loop, protect_first=3, has_system=True) == 0
    assert head_end([user("a"), user("b"), assistant("c"), user("d")], protect_first=2, has_system=True) == 0


def test_a_head_that_would_end_on_an_open_ask_ends_before_it():
    """
    Back to the last answer.
    """
    rows = [user("a"), assistant("b"), user("c"), user("d"), assistant("e")]

    assert head_end(rows, protect_first=4, has_system=True) == 2


def test_nothing_is_protected_where_nothing_may_be():
    """
    No setting, no user row first, no rows, nothing after it.
    """
    assert head_end(chat(5), protect_first=1, has_system=True) == 0
    assert head_end([assistant("a"), user("b"), assistant("c"), user("d")], protect_first=3, has_system=False) == 0
    assert head_end([], protect_first=3, has_system=False) == 0
    assert head_end([user("a"), assistant("b")], protect_first=9, has_system=False) == 0


def test_a_real_ask_is_a_users_own_text():
    """
    Not a summary, not a restated ask, not an image alone.
    """
    assert is_real_ask(user("please"))
    assert is_real_ask(image("what is this?"))
    assert not is_real_ask(user(wrap("## Goal\nx")))
    assert not is_real_ask(user(restate("please")))
    assert not is_real_ask(user("  "))
    assert not is_real_ask(assistant("please"))
