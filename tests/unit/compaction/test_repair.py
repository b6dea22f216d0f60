import json

from proxy.chat.roles import violations
from proxy.compaction.repair import ANSWER_IN_SUMMARY, CONTINUE, make_strict, repair_pairs
from tests.support.conversations import assistant, call, calls, result, system, user

LEGACY = {"role": "assistant", "content": None, "function_call": {"name": "lookup", "arguments": "{}"}}


def roles(rows):
    """
    Return the roles in a row.
    """
    return [row["role"] for row in rows]


def test_whole_pairs_are_the_clients_own_objects():
    """
    Repair touches nothing that is whole.
    """
    rows = [user("a"), calls(("f", "x", {}), ("g", "y", {})), result("y"), result("x"), assistant()]

    assert [id(row) for row in repair_pairs(rows)] == [id(row) for row in rows]


def test_a_result_without_its_call_is_dropped():
    """
    Servers refuse it.
    """
    assert roles(repair_pairs([user("a"), result("x"), assistant()])) == ["user", "assistant"]
    assert len(repair_pairs([user("a"), call("f", id="a"), result("a"), result("b"), user("c")])) == 4


def test_a_second_result_is_dropped():
    """
    One call, one answer.
    """
    rows = [call("f"), result("a", "first"), result("a", "second"), user("b")]

    assert [row["content"] for row in repair_pairs(rows)][1:] == ["first", "b"]


def test_a_call_without_its_result_gets_one_that_points_to_the_summary():
    """
    Results were pruned and the call kept: 400.
    """
    rows = [user("a"), calls(("f", "x", {}), ("g", "y", {})), result("x"), user("b")]

    assert repair_pairs(rows)[3] == {"role": "tool", "tool_call_id": "y", "content": ANSWER_IN_SUMMARY}


def test_what_the_client_left_open_at_the_end_stays_open():
    """
    Touching calls in flight repeated their side effects.
    """
    rows = [user("a"), calls(("f", "x", {}), ("g", "y", {})), result("x")]

    assert repair_pairs(rows) == rows
    assert repair_pairs(rows, close_end=True)[-1]["tool_call_id"] == "y"


def test_ids_are_matched_within_a_round():
    """
    Clients reuse them: a result far away answers nothing here.
    """
    rows = [call("f"), user("a"), call("f"), result("a"), user("b")]

    assert roles(repair_pairs(rows)) == ["assistant", "tool", "user", "assistant", "tool", "user"]


def test_parallel_calls_with_one_id_keep_both_results():
    """
    Some servers give every call of a function its name as id.
    """
    rows = [calls(("f", "f", {}), ("f", "f", {})), result("f", "one"), result("f", "two"), user("b")]

    assert repair_pairs(rows) == rows
    assert repair_pairs([rows[0], rows[1], user("b")]) == [rows[0], rows[1], user("b")]


def test_results_without_ids_answer_the_calls_in_order():
    """
    Servers without ids accept them; taking them for orphans would lose what the tool said.
    """
    rows = [
        calls(("f", "x", {}), ("g", "y", {})),
        {"role": "tool", "content": "1"},
        {"role": "tool", "content": "2"},
        user("b"),
    ]

    assert repair_pairs(rows) == rows


def test_the_legacy_form_is_repaired_like_tools():
    """
    ``function_call`` and ``function`` rows pair without ids.
    """
    answered = [user("a"), LEGACY, {"role": "function", "name": "lookup", "content": "r"}, user("b")]

    assert repair_pairs(answered) == answered
    assert repair_pairs([user("a"), LEGACY, user("b")])[2] == {
        "role": "function",
        "name": "lookup",
        "content": ANSWER_IN_SUMMARY,
    }


def test_a_null_function_call_is_no_legacy_call():
    """
    Clients that dump every field send ``function_call: null`` beside tool calls, ids or not.
    """
    row = {"role": "assistant", "function_call": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}

    assert repair_pairs([row, user("b")])[1]["role"] == "tool"


def test_strict_rows_begin_with_a_user_row():
    """
    A leading assistant row: 400, with a misleading text about tools.
    """
    assert roles(make_strict([system(), assistant("hello"), user("a")])) == ["system", "user", "assistant", "user"]
    assert make_strict([system()])[-1] == {"role": "user", "content": CONTINUE}
    assert roles(make_strict([])) == ["user"]


def test_strict_rows_join_two_turns_of_one_role():
    """
    Their texts follow each other.
    """
    assert make_strict([user("a"), user("b")]) == [user("a\n\nb")]
    parts = {"role": "user", "content": [{"type": "text", "text": "b"}]}
    assert make_strict([user("a"), parts])[0]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]


def test_strict_rows_put_a_turn_between_users_that_a_tool_round_keeps_apart():
    """
    They cannot be joined across it.
    """
    rows = make_strict([user("a"), call("f"), result(), user("b")])

    assert roles(rows) == ["user", "assistant", "tool", "assistant", "user"]
    assert violations(rows) == frozenset()


def test_strict_rows_keep_a_prefill_apart():
    """
    Joined with the turn before it would no longer be the bytes to go on from.
    """
    prefill = assistant("The answer is")
    rows = make_strict([user("a"), assistant("b"), prefill])

    assert rows[-1] is prefill
    assert roles(rows) == ["user", "assistant", "user", "assistant"]


def test_strict_rows_leave_no_call_open():
    """
    A strict server refuses an open call anywhere.
    """
    assert roles(make_strict([user("a"), call("f")])) == ["user", "assistant", "tool"]


def test_making_strict_changes_no_row_of_the_client():
    """
    Values in, values out.
    """
    rows = [user("a"), user("b"), assistant("c"), call("f"), assistant("d")]
    before = json.dumps(rows)
    make_strict(rows)

    assert json.dumps(rows) == before
