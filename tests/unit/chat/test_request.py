import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.chat.request import ChatRequest

BODY = rb"""
 { "model" : "m-1", "temperature": 1.0e0, "unknown": {"messages": [1, 2], "deep": [[{}], "]\"}"]},
   "messages" : [ {"role":"system", "content":"s"},
                  { "role": "user", "content": "a \"quoted\\\" [text] {here}, ok", "x": 1E5, "x_": -0 }
                  , {"content": "caf\u00e9 \ud83d", "role": "assistant", "tool_calls": []} ],
   "stream":true,"max_tokens": 5 , "tools": [{"type": "function"}], "functions": [{"name": "f"}] }
"""


def view(body: bytes = BODY) -> ChatRequest:
    """
    Return the view of a body that is understood.
    """
    request = ChatRequest.parse(body)

    assert request is not None
    return request


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"5",
        b"{}",
        b'{"messages": null}',
        b'{"messages": []}',
        b'{"messages": {"a": 1}}',
        b'{"messages": ["a"]}',
        b'{"messages": [{}, null]}',
    ],
)
def test_a_body_that_is_nothing_we_understand_has_no_view(body: bytes) -> None:
    """
    It is then forwarded as it is.
    """
    assert ChatRequest.parse(body) is None


def test_reads_what_the_client_asked_for() -> None:
    """
    Old and new names of tools together.
    """
    request = view()

    assert (request.model, request.stream, request.asked_output) == ("m-1", True, 5)
    assert request.tools == [{"type": "function"}, {"name": "f"}]
    assert [row["role"] for row in request.messages] == ["system", "user", "assistant"]


@pytest.mark.parametrize(
    "extra",
    [
        "",
        ', "model": 5, "stream": "true", "tools": {}, "max_tokens": "9", "max_completion_tokens": true',
        ', "model": null, "stream": null, "tools": null, "max_tokens": 0, "max_completion_tokens": -1',
    ],
)
def test_odd_values_are_as_good_as_none(extra: str) -> None:
    """
    They pass on to the server, which may know what they mean.
    """
    request = view(f'{{"messages": [{{}}]{extra}}}'.encode())

    assert (request.model, request.stream, request.tools, request.asked_output) == ("", False, [], None)


def test_the_newer_name_of_the_output_limit_wins() -> None:
    """
    Servers that know both read that one.
    """
    assert view(b'{"messages": [{}], "max_tokens": 5, "max_completion_tokens": 7}').asked_output == 7


def test_rows_that_stay_are_the_clients_own_bytes() -> None:
    """
    Number formats, escapes and blanks inside a row survive, and those between rows that follow each other.
    """
    request = view()

    assert (
        request.splice(request.messages[1:]).count(
            rb"""[{ "role": "user", "content": "a \"quoted\\\" [text] {here}, ok", "x": 1E5, "x_": -0 }
                  , {"content": "caf\u00e9 \ud83d", "role": "assistant", "tool_calls": []}]"""
        )
        == 1
    )


def test_rows_that_no_longer_follow_each_other_are_joined_by_a_comma() -> None:
    """
    In any order, and as often as they are wanted.
    """
    request = view(b'{"messages": [{"a":  1} , {"b":  2} , {"c":  3}]}')
    one, two, three = request.messages

    assert request.splice([one, three]) == b'{"messages": [{"a":  1},{"c":  3}]}'
    assert request.splice([three, two, one, one]) == b'{"messages": [{"c":  3},{"b":  2},{"a":  1},{"a":  1}]}'
    assert request.splice([two, three, one]) == b'{"messages": [{"b":  2} , {"c":  3},{"a":  1}]}'


def test_everything_but_the_messages_stays_byte_for_byte() -> None:
    """
    Unknown fields, and those that look like ours inside of others.
    """
    request = view()
    before, after = BODY.split(b'"messages" : [')[0], BODY.split(b'"tool_calls": []} ]')[1]

    assert request.splice(request.messages[:1]) == before + b'"messages" : [{"role":"system", "content":"s"}]' + after


def test_a_new_row_is_written_compactly_between_those_that_stay() -> None:
    """
    A summary, for one.
    """
    request = view(b'{"messages": [{"a":  1}, {"b":  2}]}')
    rows = [request.messages[0], {"role": "user", "content": "\ud83d"}, request.messages[1]]

    assert request.splice(rows) == rb'{"messages": [{"a":  1},{"role":"user","content":"\ud83d"},{"b":  2}]}'


def test_an_equal_row_of_ours_is_not_taken_for_the_clients() -> None:
    """
    Identity counts: a copy is written anew.
    """
    request = view(b'{"messages": [{"a":  1}]}')

    assert request.splice([dict(request.messages[0])]) == b'{"messages": [{"a":1}]}'


def test_a_changed_field_is_replaced_where_it_stands() -> None:
    """
    Before and after the messages alike.
    """
    request = view(b'{"max_tokens": 9 ,"messages": [{}], "n": [1]}')

    assert request.splice(request.messages, {"n": None, "max_tokens": 5}) == (
        b'{"max_tokens": 5 ,"messages": [{}], "n": null}'
    )


def test_a_field_that_is_not_there_is_added() -> None:
    """
    At the front, where a comma is always right.
    """
    request = view(b' {"messages": [{}]}')

    assert request.splice(request.messages, {"a": 1, "b": "x"}) == b' {"a":1,"b":"x","messages": [{}]}'


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages": [{"a": 1}], "messages": [{"b": 2}]}',
        b'{"messages": [], "messages": [{"b": 2}]}',
        b'{"messages": 5, "messages": [{"b": 2}]}',
        rb'{"messages": [{"a": 1}], "mess\u0061ges": [{"b": 2}]}',
        b'{"n": 1, "messages": [{}], "n": 2}',
    ],
)
def test_a_key_that_occurs_twice_cannot_be_spliced(body: bytes) -> None:
    """
    Servers differ in which one they take, so the request is left as it is.
    """
    request = view(body)

    with pytest.raises(ValueError, match="occurs twice"):
        request.splice(request.messages)


def test_a_key_in_escapes_is_the_same_key() -> None:
    """
    Parsers read it so.
    """
    request = view(rb'{"mess\u0061ges": [{"a": 1}, {"b": 2}]}')

    assert request.splice(request.messages[1:]) == rb'{"mess\u0061ges": [{"b": 2}]}'


def test_a_view_of_another_body_is_not_spliced() -> None:
    """
    Rows are matched by their number at least; a mix-up ends in an error and in no broken body.
    """
    with pytest.raises(ValueError, match="cannot be located"):
        ChatRequest(b'{"messages": [{}]}', {"messages": [{}, {}]}).splice([])


def test_scans_a_deep_body_without_recursion() -> None:
    """
    Nesting is counted, not followed.
    """
    deep = b"[" * 900 + b"]" * 900
    request = view(b'{"x": ' + deep + b', "messages": [{"content": ' + deep + b"}]}")

    assert json.loads(request.splice(request.messages)) == request.data


# No deadline: a busy machine is no fault of the code.
UNHURRIED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TEXT = st.text(max_size=6) | st.sampled_from(['"', "\\", '\\"', "]", "},{", "messages", "\\\\", "\ud83d", ":", ","])
SCALAR = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
JSON = SCALAR | st.lists(SCALAR | st.lists(SCALAR, max_size=2), max_size=3) | st.dictionaries(TEXT, SCALAR, max_size=3)
ROWS = st.lists(st.dictionaries(TEXT, JSON, max_size=3), min_size=1, max_size=4)
FIELDS = st.dictionaries(TEXT.filter(lambda key: key != "messages"), JSON, max_size=4)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """
    Draw a body in one of the ways that serialisers write.
    """
    data = list({**draw(FIELDS), "messages": draw(ROWS)}.items())
    style = draw(st.sampled_from([{"separators": (",", ":")}, {}, {"indent": 2}, {"indent": "\t"}]))
    text = json.dumps(dict(draw(st.permutations(data))), ensure_ascii=draw(st.booleans()), **style)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(dict(data), **style).encode()


@pytest.mark.slow
@UNHURRIED
@given(bodies())
def test_splicing_all_own_rows_changes_blanks_around_them_only(body: bytes) -> None:
    """
    The result parses equal, and its rows and all the rest are the client's bytes.
    """
    request = view(body)
    spliced = request.splice(request.messages)
    start, end = request.spans.values["messages"]
    tail = body[end:]

    assert json.loads(spliced) == json.loads(body)
    assert spliced[:start] == body[:start]
    assert spliced.endswith(tail)
    rows = request.spans.rows
    assert spliced[start : len(spliced) - len(tail)] == b"[" + body[rows[0][0] : rows[-1][1]] + b"]"


@pytest.mark.slow
@UNHURRIED
@given(bodies(), FIELDS, st.data())
def test_splicing_does_to_the_body_what_it_says(body: bytes, changes: dict, data: st.DataObject) -> None:
    """
    Any rows, any fields: the parsed result is the parsed request with just these replaced.
    """
    request = view(body)
    rows = data.draw(st.lists(st.sampled_from(request.messages) | ROWS.map(lambda rows: rows[0]), max_size=5))
    expected = {**request.data, **changes, "messages": rows}

    assert json.loads(request.splice(rows, changes)) == expected


def test_looks_into_nothing_that_is_nested_too_deeply():
    """
    The limit is on nesting, not on the number of brackets.
    """
    wide = b'{"messages":[{"role":"user","content":"x"}],"metadata":{"a":[' + b"[]," * 500 + b"1]}}"
    deep = b'{"messages":[{"role":"user","content":"x"}],"metadata":' + b'{"a":' * 200 + b"1" + b"}" * 200 + b"}"

    assert ChatRequest.parse(wide, deepest=200) is not None
    assert ChatRequest.parse(deep, deepest=200) is None
    assert ChatRequest.parse(deep, deepest=201) is not None
    assert ChatRequest.parse(deep) is not None


def test_finds_rows_however_the_client_writes_json() -> None:
    """
    Rows in our own words are found by comparing, others by their brackets; a body may hold both, and rows that begin
    alike.
    """
    rows = [
        b'{"role":"user","content":"a"}',
        b'{ "role": "user", "content": "a" }',
        b'{"role":"user","content":"a","content":"b"}',
        b'{"role":"user","content":"\\u00e9"}',
        b'{"role":"user","content":"a"}',
    ]
    body = b'{"model":"m","messages":[' + b" ,".join(rows) + b'],"seed":1}'
    request = ChatRequest.parse(body)
    assert request is not None

    assert request.splice(request.messages[1:]) == b'{"model":"m","messages":[' + b" ,".join(rows[1:]) + b'],"seed":1}'
    for index, row in enumerate(rows):
        assert request.splice([request.messages[index]]) == b'{"model":"m","messages":[' + row + b'],"seed":1}'
