import pytest

from proxy.chat import messages as m


@pytest.mark.parametrize("odd", [{}, {"role": None}, {"role": 5}, {"role": ["user"]}])
def test_a_row_without_a_role_has_none(odd: m.Message) -> None:
    """
    Whatever a client put there, reading it never raises.
    """
    assert m.role_of(odd) == ""
    assert not any(test(odd) for test in (m.is_system, m.is_user, m.is_assistant, m.is_tool_result, m.is_call_row))


@pytest.mark.parametrize(
    ("role", "test"),
    [
        ("system", m.is_system),
        ("developer", m.is_system),
        ("user", m.is_user),
        ("assistant", m.is_assistant),
        ("tool", m.is_tool_result),
        ("function", m.is_tool_result),
    ],
)
def test_knows_the_kind_of_a_row_by_its_role(role: str, test) -> None:
    """
    Old and new names of the same thing are one kind.
    """
    tests = {m.is_system, m.is_user, m.is_assistant, m.is_tool_result}

    assert {known for known in tests if known({"role": role})} == {test}


def test_reads_calls_of_every_form() -> None:
    """
    Functions, custom tools, and the legacy single call.
    """
    row = {
        "role": "assistant",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "b", "type": "custom", "custom": {"name": "g", "input": "text"}},
        ],
        "function_call": {"name": "h", "arguments": "{1}"},
    }

    assert m.tool_calls(row) == (m.ToolCall("a", "f", "{}"), m.ToolCall("b", "g", "text"), m.ToolCall("", "h", "{1}"))
    assert m.is_call_row(row)


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (None, ()),
        ("x", ()),
        ([], ()),
        ([None, 5], ()),
        ([{}], (m.ToolCall("", "", ""),)),
        ([{"id": 7, "function": None}], (m.ToolCall("7", "", ""),)),
        ([{"id": "a", "function": {"name": None, "arguments": {"k": 1}}}], (m.ToolCall("a", "", "{'k': 1}"),)),
    ],
)
def test_reads_odd_calls_without_raising(calls: object, expected: tuple[m.ToolCall, ...]) -> None:
    """
    Clients send nulls, numbers as ids and objects as arguments.
    """
    assert m.tool_calls({"role": "assistant", "tool_calls": calls}) == expected


def test_only_an_assistant_row_calls_tools() -> None:
    """
    A user row that carries the key does not open a round.
    """
    assert m.tool_calls({"role": "user", "tool_calls": [{"id": "a", "function": {"name": "f"}}]}) == ()


@pytest.mark.parametrize(("value", "expected"), [("a", "a"), (None, ""), (5, "5")])
def test_reads_the_id_that_a_result_answers(value: object, expected: str) -> None:
    """
    The legacy form has none.
    """
    assert m.result_id({"role": "tool", "tool_call_id": value}) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, ()),
        ("x", ({"type": "text", "text": "x"},)),
        ([{"type": "text", "text": "x"}], ({"type": "text", "text": "x"},)),
        (["x", None], ({"type": "text", "text": "x"}, {"type": "text", "text": ""})),
        ({"type": "odd"}, ({"type": "odd"},)),
        (5, ({"type": "text", "text": "5"},)),
    ],
)
def test_reads_any_content_as_parts(content: object, expected: tuple[m.Message, ...]) -> None:
    """
    One shape for all that clients send.
    """
    assert m.parts({"content": content}) == m.parts_of(content) == expected


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("x", "x"),
        (None, ""),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "refusal", "refusal": "no"}], "a\nno"),
        ([{"type": "text", "text": 5}], ""),
        (7, "7"),
    ],
)
def test_joins_the_text_of_all_parts(content: object, text: str) -> None:
    """
    Media contribute nothing.
    """
    assert m.text_of({"content": content}) == text


def test_knows_text_parts() -> None:
    """
    By their text, since their type is left out at times.
    """
    assert m.is_text_part({"text": "x"})
    assert not m.is_text_part({"type": "text"})


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "image_url", "image_url": {}}, True),
        ({"type": "image"}, True),
        ({"type": "input_image"}, True),
        ({"image_url": "data:"}, True),
        ({"type": "text", "text": "image"}, False),
    ],
)
def test_knows_images(part: m.Message, expected: bool) -> None:
    """
    In the forms of all relatives of the API.
    """
    assert m.is_image_part(part) is expected


def test_an_unhashable_type_is_no_image() -> None:
    """
    ``type`` may hold anything; a list there once raised.
    """
    assert not m.is_image_part({"type": ["image"]})
    assert not m.is_system({"role": {}})


def test_counts_the_leading_system_rows_only() -> None:
    """
    Later ones are ordinary rows.
    """
    system, user = {"role": "system"}, {"role": "user"}

    assert m.leading_system_rows([system, {"role": "developer"}, user, system]) == 2
    assert m.leading_system_rows([system, system]) == 2
    assert m.leading_system_rows([]) == 0
