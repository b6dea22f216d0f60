import pytest

from proxy.simulator.counting import PlainCounter, row_tokens
from tests.support.conversations import TOOLS, call, image, user

COUNTER = PlainCounter()


@pytest.mark.parametrize(("text", "expected"), [("", 0), ("abcd", 1), ("abcde", 2), ("漢字", 2), ("\ud800", 1)])
def test_four_bytes_are_a_token(text, expected):
    """
    Rounded up; text that cannot be encoded is counted all the same.
    """
    assert COUNTER.text(text) == expected


def test_tool_calls_count():
    """
    Arguments are part of the prompt.
    """
    assert COUNTER.message(call("read", id="a", path="x" * 400)) > 100


def test_an_image_is_flat():
    """
    Base64 is no text.
    """
    assert COUNTER.message(image(size=40)) == COUNTER.message(image(size=400_000))


def test_tools_are_the_fixed_part():
    """
    A request without tools has only the start of the answer.
    """
    assert COUNTER.fixed({"messages": []}) == 3 < COUNTER.fixed({"tools": list(TOOLS)})


def test_odd_rows_are_counted_too():
    """
    Whatever JSON stands among the rows.
    """
    assert all(tokens > 0 for tokens in row_tokens(COUNTER, [user("a"), "text", 3, None, {"content": {"a": 1}}]))
