import pytest

from proxy.compaction.stubs import STUB_CHARACTERS, duplicate_text, first_failure_line, needs_stub, stub_text
from tests.support.conversations import call, calls, result


def stub(content, *, row=None):
    """
    Return the stub of a result with this content.
    """
    return stub_text([row or call("read_file", path="src/app.py"), result("a", content)], 1)


def test_a_stub_names_tool_arguments_and_size():
    """
    A model that cannot tell what was there runs the tool again (opaque markers did that).
    """
    text = stub("word " * 300)

    assert "read_file" in text
    assert "src/app.py" in text
    assert "1,500 characters" in text


def test_a_failure_never_reads_as_a_success():
    """
    A stub without the outcome made a failed tool look done.
    """
    failed = stub("line\n" * 60 + "ERROR: port 4711 is taken\n" + "line\n" * 60)

    assert ": failed" in failed
    assert "port 4711 is taken" in failed
    assert ": done" in stub("all good\n" * 60)


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        "exited with 2",
        "exit code: 1",
        "No such file",
        "permission denied",
        "错误：找不到",
    ],
)
def test_failures_are_told_in_many_words(line):
    """
    Exit codes, tracebacks, refusals, Chinese.
    """
    assert line in first_failure_line(f"ok\n{line}\nok")


@pytest.mark.parametrize("text", ["0 errors, 12 passed", "no failures", "exit code 0", "terrors of the sea"])
def test_the_absence_of_failures_is_no_failure(text):
    """
    A summary line that counts zero errors is good news.
    """
    assert first_failure_line(text) == ""


def test_a_failure_after_a_zero_count_is_still_found():
    """
    The first line that really tells of one counts.
    """
    assert first_failure_line("0 errors\nfatal: bad object") == "fatal: bad object"


def test_stubs_carry_ids_and_numbers():
    """
    Exact values are what a later turn needs.
    """
    text = stub("see https://example.test/build/77 and /srv/app/main.py, commit 9f8e7d6c5b, " + "word " * 100)

    assert "https://example.test/build/77" in text
    assert "/srv/app/main.py" in text


def test_a_fact_is_told_once_and_at_most_five_are():
    """
    A list of the same number over and over says nothing.
    """
    text = stub("4711 " * 100 + "1001 1002 1003 1004 1005 1006 1007")

    assert text.count("4711") == 1
    assert "1006" not in text


@pytest.mark.parametrize(
    "content", ["e" * 10_000, "错误" * 5_000, "error: " + "y" * 9_000, "1234567 " * 900, "/a/b/c/d.py " * 500]
)
def test_a_stub_is_never_longer_than_200_characters(content):
    """
    Whatever the tool, its arguments and its output.
    """
    row = call("a_tool_with_a_very_long_name_indeed_" * 3, path="p" * 500)

    assert len(stub(content, row=row)) <= STUB_CHARACTERS
    assert len(duplicate_text([row, result("a", content)], 1)) <= STUB_CHARACTERS


def test_stubs_are_never_stubbed_again():
    """
    Re-pruning a stub rewrote it, turn after turn.
    """
    assert not needs_stub(result("a", stub("word " * 900)))
    assert not needs_stub(result("a", "x" * 200))
    assert needs_stub(result("a", "x" * 201))


def test_only_tool_results_become_stubs():
    """
    A long user row is no tool result.
    """
    assert not needs_stub({"role": "user", "content": "x" * 900})


def test_each_parallel_result_names_its_own_call():
    """
    By id, not by place.
    """
    rows = [calls(("grep", "x", {}), ("ls", "y", {})), result("y", 900), result("x", 900)]

    assert "ls(" in stub_text(rows, 1)
    assert "grep(" in stub_text(rows, 2)


def test_a_result_whose_call_is_unknown_still_gets_a_stub():
    """
    An orphan, or ids that do not match: the first call of the row, or just a tool.
    """
    assert "a tool" in stub_text([result("a", 900)], 0)
    assert "read_file" in stub_text([call("read_file", id="b"), result("a", 900)], 1)


def test_content_of_a_shape_nobody_knows_is_stubbed_by_its_json():
    """
    A dict as tool content broke pruners that called string methods on it.
    """
    row = {"role": "tool", "tool_call_id": "a", "content": {"rows": ["alpha"] * 80, "status": "failed"}}

    assert needs_stub(row)
    assert ": failed" in stub_text([call("query"), row], 1)


@pytest.mark.parametrize("content", [None, 7, True, 1.5, {}, [], ["text"], [None], {"a": {"b": 1}}])
def test_odd_content_never_raises(content):
    """
    Tool content came as dict, int and bool; ``.encode`` failed on them.
    """
    row = {"role": "tool", "tool_call_id": "a", "content": content}

    assert not needs_stub(row)
    assert stub_text([call("f"), row], 1).startswith("[old result of f")


def test_a_duplicate_says_that_the_same_result_comes_later():
    """
    The model knows where to look.
    """
    rows = [call("read_file", path="a.py"), result("a", 900)]

    assert "the same result comes later" in duplicate_text(rows, 1)
