import json

from proxy.compaction.arguments import has_long_arguments, small_arguments
from tests.support.conversations import call


def test_tells_which_rows_have_long_arguments():
    """
    Up to three times of what would be shown is not long.
    """
    assert has_long_arguments(call("f", body="x" * 700), shown=200)
    assert not has_long_arguments(call("f", body="x" * 500), shown=200)


def test_the_legacy_form_is_made_small_too():
    """
    ``function_call`` carries arguments like any call.
    """
    row = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "f", "arguments": '{"t": "' + "x" * 900 + '"}'},
    }
    small = small_arguments(row, shown=200)

    assert "left_out" in json.loads(small["function_call"]["arguments"])
    assert small["function_call"]["name"] == "f"


def test_custom_tools_have_their_input_made_small():
    """
    Their input is any text.
    """
    row = {
        "role": "assistant",
        "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "p", "input": "x" * 900}}],
    }

    assert len(small_arguments(row, shown=50)["tool_calls"][0]["custom"]["input"]) < 200


def test_arguments_sent_as_an_object_stay_an_object():
    """
    Some clients never write them as a string.
    """
    row = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "p", "arguments": {"t": "x" * 900}}}]}

    assert isinstance(small_arguments(row, shown=50)["tool_calls"][0]["function"]["arguments"], dict)


def test_a_note_that_would_be_longer_is_not_written():
    """
    Escapes can make it so.
    """
    row = call("f")
    row["tool_calls"][0]["function"]["arguments"] = '"' + "\\\\" * 5 + '"'

    assert small_arguments(row, shown=3) == row


def test_calls_of_unknown_shape_pass():
    """
    What is no object is left as it is.
    """
    row = {"role": "assistant", "tool_calls": [None, "x", {"id": "a"}, {"function": 3}]}

    assert small_arguments(row, shown=1) == row
    assert small_arguments({"role": "assistant", "tool_calls": "x"}, shown=1)["tool_calls"] == "x"
