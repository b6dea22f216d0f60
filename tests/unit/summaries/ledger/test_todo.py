from proxy.summaries.ledger.todo import todo_lines, writes_todo
from tests.support.summaries import call, result, user

LIST = [{"content": "wire it", "status": "pending"}]


def test_reads_the_arguments_of_the_newest_call():
    """Where the result says nothing."""
    rows = [
        call("TodoWrite", "a", todos=[{"content": "old"}]),
        result("ok", "a"),
        call("TodoWrite", "b", todos=LIST),
        result("ok", "b"),
    ]

    assert todo_lines(rows) == ["[ ] wire it"]


def test_reads_a_printed_list():
    """The tool's own lines, finished ones left out."""
    assert todo_lines([call("todo", "a"), result("- [x] done\n- [ ] wire it")]) == ["- [ ] wire it"]


def test_reads_a_list_in_json():
    """As some servers print it."""
    assert todo_lines([call("todo", "a"), result('{"todos": [{"content": "wire it", "status": "pending"}]}')]) == [
        "[ ] wire it"
    ]


def test_nothing_without_a_todo_tool():
    """Lists in other outputs are no plan."""
    assert not writes_todo([user("- [ ] buy milk"), call("read_file", "a"), result("- [ ] x\n- [ ] y")])


def test_secrets_in_a_plan_are_masked():
    """As everywhere."""
    rows = [call("todo", "a"), result("- [ ] set password=tr0ub4dor99\n- [ ] restart")]

    assert todo_lines(rows)[0] == "- [ ] set password=[redacted]"
