from __future__ import annotations

import pytest

from proxy.recovery.normalise import fold
from proxy.recovery.numbers import ROWS, NumberRow, extract_numbers, is_lower_bound, to_int


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.example[:60])
def test_reads_its_own_example(row: NumberRow) -> None:
    """
    The example in a row gives the numbers that the row promises.
    """
    found = extract_numbers(fold(row.example))

    assert {name: found.get(name) for name in row.found} == dict(row.found)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,234,567", 1_234_567), ("9351.0", 9351), ("128k", 128_000), ("1.5m", 1_500_000), ("32 k", 32_000)],
)
def test_reads_numbers_as_people_write_them(text: str, value: int) -> None:
    """
    Commas, fractions and suffixes are understood.
    """
    assert to_int(text) == value


def test_structured_numbers_win() -> None:
    """
    A field of its own is surer than a wording.
    """
    assert extract_numbers("maximum context length is 9000", {"limit": 8000})["limit"] == 8000


def test_the_right_side_of_a_comparison_is_the_limit() -> None:
    """
    In A + B > C the window is C.
    """
    assert extract_numbers("exceed context limit: 150001 + 60001 > 190001")["limit"] == 190001


def test_an_excess_and_a_limit_give_the_prompt() -> None:
    """
    "Exceeded by" states what is over, not what was sent.
    """
    found = extract_numbers("size limit exceeded by 700 tokens. the limit for this model is 9000 tokens")

    assert (found["excess"], found["limit"], found["prompt"]) == (700, 9000, 9700)


def test_a_status_is_no_number_of_tokens() -> None:
    """
    The 400 in front is the status.
    """
    assert extract_numbers("error: 400 the input length exceeds the context length (status code: 400)") == {}


def test_characters_and_bytes_are_no_tokens() -> None:
    """
    Units other than tokens are left alone.
    """
    assert extract_numbers("maximum context length is 90000 characters or 120000 bytes") == {}


def test_a_window_may_equal_the_asked_output() -> None:
    """
    max_tokens set to the whole window is a common mistake; both numbers are the same then.
    """
    text = "maximum context length is 9000 tokens. however, you requested 9100 tokens (100 in the messages, 9000 in the completion)"
    found = extract_numbers(text)

    assert (found["limit"], found["output"], found["prompt"], found["total"]) == (9000, 9000, 100, 9100)


def test_of_two_bare_numbers_the_larger_is_the_prompt() -> None:
    """
    Where the words are no help, a refused prompt is larger than what it did not fit in.
    """
    found = extract_numbers("prompt and window do not agree: 12000, 9000")

    assert (found["prompt"], found["limit"]) == (12000, 9000)


def test_model_names_are_no_numbers() -> None:
    """
    The 70 of a 70b and the date of a snapshot are part of a name.
    """
    assert extract_numbers("prompt too long for llama-3.3-70b-20240620") == {}


def test_a_lower_bound_is_recognised() -> None:
    """
    "At least N" is a bound.
    """
    assert is_lower_bound("contains at least 769 input tokens")
    assert not is_lower_bound("contains 769 input tokens")
