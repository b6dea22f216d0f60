from proxy.chat.groups import Group, group_starts, groups, open_calls, pending_round

USER = {"role": "user", "content": "u"}
SAID = {"role": "assistant", "content": "s"}


def call(*ids: str) -> dict:
    """
    Return a row that calls tools.
    """
    return {"role": "assistant", "tool_calls": [{"id": i, "function": {"name": "f", "arguments": "{}"}} for i in ids]}


def result(call_id: str) -> dict:
    """
    Return a tool result.
    """
    return {"role": "tool", "tool_call_id": call_id, "content": "r"}


def test_keeps_a_tool_call_together_with_its_results() -> None:
    """
    Every other row stands alone.
    """
    rows = [USER, call("a", "b"), result("a"), result("b"), SAID, USER]

    assert groups(rows) == (Group(0, 1, False), Group(1, 4, True), Group(4, 5, False), Group(5, 6, False))
    assert group_starts(rows) == (0, 1, 4, 5)
    assert [len(group) for group in groups(rows)] == [1, 3, 1, 1]


def test_two_rounds_that_follow_each_other_are_two_groups() -> None:
    """
    The second call row begins a group of its own, even with the same ids.
    """
    assert group_starts([call("a"), result("a"), call("a"), result("a")]) == (0, 2)


def test_stray_results_stay_together() -> None:
    """
    A cut between them would leave an orphan on its own.
    """
    assert groups([result("a"), result("b"), USER]) == (Group(0, 2, False), Group(2, 3, False))


def test_an_empty_history_has_no_groups() -> None:
    """
    Nor any place to cut.
    """
    assert groups([]) == ()
    assert pending_round([]) is None


def test_finds_calls_that_nothing_answers() -> None:
    """
    Within the group alone: clients reuse ids.
    """
    rows = [call("a", "b"), result("b"), USER, result("a")]

    assert open_calls(rows, groups(rows)[0]) == ("a",)


def test_the_pending_round_is_a_tool_round_at_the_very_end() -> None:
    """
    Answered or open; anything after it means that the model went on.
    """
    rows = [USER, call("a"), result("a")]

    assert pending_round(rows) == Group(1, 3, True)
    assert pending_round([*rows, SAID]) is None
    assert pending_round([USER, result("a")]) is None
