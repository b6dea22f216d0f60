"""
Where things stand in a body; much more of it in ``test_request.py``.
"""

import json

import pytest

from proxy.chat.spans import moved, scan, scan_on

FIRST = b'{ "a" : [1, {"b": "]"}], "messages": [ {"x": 1} , {"y":"}"}] , "tools" :[{"c": {}}], "n":null}'
LONGER = FIRST.replace(b'{"y":"}"}]', b'{"y":"}"} , {"z": [2]}]')


def located(body: bytes, spans):
    values = {key: json.loads(body[start:end]) for key, (start, end) in spans.values.items()}
    return values, [json.loads(body[start:end]) for start, end in spans.rows]


def test_locates_values_and_rows() -> None:
    """
    Brackets in texts are no brackets.
    """
    data = json.loads(FIRST)
    spans = scan(FIRST, data)

    assert located(FIRST, spans) == (data, data["messages"])
    assert set(spans.before) == {"a"}


@pytest.mark.parametrize("more", [scan_on, moved])
def test_goes_on_from_what_is_known(more) -> None:
    """
    Whether what stands behind the messages is looked for or has only moved.
    """
    known, data = scan(FIRST, json.loads(FIRST)), json.loads(LONGER)
    spans = more(LONGER, data, known, rows=2)

    assert located(LONGER, spans) == (data, data["messages"])
    assert spans == scan(LONGER, data)
    assert more(FIRST, json.loads(FIRST), spans, rows=1) == known


def test_a_key_that_occurs_twice_is_an_error_behind_the_rows_too() -> None:
    """
    Whichever of the two stood there before.
    """
    known = scan(FIRST, json.loads(FIRST))
    twice = LONGER.replace(b'"n"', b'"a"')

    with pytest.raises(ValueError, match="occurs twice"):
        scan_on(twice, json.loads(twice), known, rows=2)
