import pytest

from proxy.chat.json import clean_text, deeper_than, dumps, loads


def test_accepts_lone_surrogates() -> None:
    """
    JavaScript clients cut strings in the middle of an emoji; orjson refuses what they send then.
    """
    assert loads(rb'{"a": "\ud83d"}') == {"a": "\ud83d"}


def test_writes_lone_surrogates_as_escapes() -> None:
    """
    They cannot be encoded, and must come out as they came in.
    """
    assert dumps({"a": "\ud83d"}) == rb'{"a":"\ud83d"}'


@pytest.mark.parametrize("text", [b'{"a": NaN}', b'{"a": [Infinity, -Infinity]}'])
def test_accepts_numbers_that_python_clients_send(text: bytes) -> None:
    """
    ``json.dumps`` writes them; whether the server likes them is not ours to say.
    """
    assert set(loads(text)) == {"a"}


def test_a_repeated_key_takes_its_last_value() -> None:
    """
    As most servers read it.
    """
    assert loads(b'{"a": 1, "a": 2}') == {"a": 2}


@pytest.mark.parametrize(
    "text", [b"", b"{", b"nope", b'{"a": 1,}', rb'{"a": "\u12"}', b'{"a": NaN', b"\xff", b'"\\u00e9\xff"']
)
def test_raises_value_error_where_it_is_no_json(text: bytes) -> None:
    """
    Callers catch one type.
    """
    with pytest.raises(ValueError):
        loads(text)


def test_raises_value_error_where_it_is_nested_too_deeply() -> None:
    """
    Both parsers have a limit; a recursion error would pass by every handler of bad JSON.
    """
    with pytest.raises(ValueError):
        loads(b"[" * 100_000 + rb'"\ud83d"' + b"]" * 100_000)


def test_writes_compactly() -> None:
    """
    Without blanks, as bytes of UTF-8.
    """
    assert dumps({"a": ["é", 1, None]}) == '{"a":["é",1,null]}'.encode()


def test_writes_numbers_that_are_larger_than_64_bits() -> None:
    """
    Orjson refuses them.
    """
    assert dumps({"a": 2**70}) == b'{"a":1180591620717411303424}'


def test_text_of_ours_can_always_be_encoded() -> None:
    """
    Half an emoji becomes a question mark.
    """
    assert clean_text("a\ud83db é") == "a?b é"


@pytest.mark.parametrize("number", [b"1e999", b"9" * 400, b"-" + b"9" * 25])
def test_accepts_numbers_beyond_64_bits(number: bytes) -> None:
    """
    One reader refuses them, though they are JSON; a request that holds one is understood like any other.
    """
    assert abs(loads(b'{"a": ' + number + b"}")["a"]) > 2**64


@pytest.mark.parametrize(
    ("value", "levels"),
    [("text", 0), (7, 0), ({}, 1), ([], 1), ({"a": 1}, 1), ({"a": [{"b": []}], "c": 1}, 4), ([1, [2, [3]], {}], 3)],
)
def test_counts_levels_of_nesting(value, levels):
    """
    Objects and arrays are levels, what they hold is not.
    """
    assert not deeper_than(value, levels)
    assert not levels or deeper_than(value, levels - 1)


def test_counts_levels_without_recursion():
    """
    However deep.
    """
    value: object = 1
    for _ in range(50_000):
        value = [value]

    assert deeper_than(value, 200)
