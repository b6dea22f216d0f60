import pytest

from proxy.recovery.classify import classify
from proxy.recovery.skeleton import MOST_WORDS, skeleton


def test_words_of_errors_stay():
    """
    What an error is made of is worth reading.
    """
    assert skeleton("The prompt does not fit the model's window") == "the prompt does not fit the model _ window"


def test_words_of_the_request_go():
    """
    A server that quotes the request back does not get it into a log.
    """
    shape = skeleton("Unprocessable: 'my name is Xaver Quill, key sk-Zz81kQ' in message 3")

    assert shape == "_ is _ key _ N _ in message N"


def test_numbers_are_numbers():
    """
    Sizes and ids look the same.
    """
    assert skeleton("got 12,345 tokens") == skeleton("got 7 tokens") == "got N tokens"


def test_codes_are_shown_the_same_way():
    """
    Codes are made of words, too.
    """
    assert skeleton("nope", ["context_frob_exceeded"]) == "context _ exceeded"


@pytest.mark.parametrize("text", ["", "zzz yyy", "4711"])
def test_nothing_known_is_nothing(text):
    """
    A row of blanks tells nobody anything.
    """
    assert skeleton(text) == ""


def test_it_is_short():
    """
    A log line is no place for a page.
    """
    assert len(skeleton("model token " * 500).split()) <= MOST_WORDS


def test_only_unknown_wordings_have_one():
    """
    What a rule knows needs no shape.
    """
    known = classify(400, b'{"error":{"message":"prompt is too long: 9000 tokens > 8000 maximum"}}')
    unknown = classify(418, b'{"error":{"message":"the frobnicator refused the request"}}')

    assert (known.wording, unknown.known, unknown.wording) == ("", False, "the _ refused the request")
