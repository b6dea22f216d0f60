import pytest

from proxy.tokens.opaque import is_opaque, scrub

BLOB = "QUJDREVG" * 500


@pytest.mark.parametrize("text", [BLOB, "data:image/png;base64," + "A" * 3_000, "_-ab" * 1_000, "QUJD\n" * 800])
def test_encoded_data_is_opaque(text):
    """
    Nobody reads it as text.
    """
    assert is_opaque(text)


@pytest.mark.parametrize("text", ["QUJD", "some words " * 500, "{" + BLOB + "}", "data", ""])
def test_text_is_not(text):
    """
    Short strings and anything with spaces or punctuation are text.
    """
    assert not is_opaque(text)


def test_scrubbing_keeps_the_text_and_counts_the_blobs():
    """
    Signatures and cache marks vanish; blobs leave an empty string.
    """
    value = {"type": "odd", "data": [BLOB, {"deep": BLOB}], "signature": "abc", "cache_control": {}, "note": "hi"}

    assert scrub(value) == ({"type": "odd", "data": ["", {"deep": ""}], "note": "hi"}, 2)


@pytest.mark.parametrize("number", [1e9, 2.0, 10**30, -(10**30)])
def test_numbers_never_grow(number):
    """
    1e9 is three bytes in the request and twelve when written again.
    """
    assert scrub(number) == (0, 0)


@pytest.mark.parametrize("value", [0.25, 7, True, None, "x"])
def test_ordinary_values_stay(value):
    """
    Schemas hold few odd numbers.
    """
    assert scrub(value) == (value, 0)
