import pytest

from proxy.telemetry.units import check_regex, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("30s", 30),
        ("5m", 300),
        ("1h", 3600),
        ("7d", 604800),
        ("1w", 604800),
        ("1.5 h", 5400),
        (3, 3),
        ("3", 3),
    ],
)
def test_reads_durations(text: object, seconds: float) -> None:
    """
    Numbers are seconds.
    """
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64KiB", 65536),
        ("10MB", 10_000_000),
        ("1GiB", 2**30),
        ("2k", 2000),
        ("1.5MiB", 1572864),
        ("5b", 5),
        (7, 7),
        ("7", 7),
    ],
)
def test_reads_sizes(text: object, size: int) -> None:
    """
    Numbers are bytes; case does not matter.
    """
    assert parse_size(text) == size
    assert isinstance(parse_size(text), int)


@pytest.mark.parametrize(
    "text", ["", "s", "5 parsecs", "-5s", "1s2s", True, None, [5], float("inf"), float("nan"), "٣s"]
)
def test_refuses_what_is_no_quantity(text: object) -> None:
    """
    The value itself is not in the message.
    """
    with pytest.raises(ValueError, match=r"^is no duration: write 30s, 5m, 1h, 7d or 500ms$"):
        parse_duration(text)
    with pytest.raises(ValueError, match=r"^is no size: write 64KiB, 10MB or 1GiB$"):
        parse_size(text)


def test_checks_regexes_when_they_are_read() -> None:
    """
    And not when the first message comes.
    """
    assert check_regex("a+") == "a+"
    with pytest.raises(ValueError, match="is no regular expression"):
        check_regex("a(")
