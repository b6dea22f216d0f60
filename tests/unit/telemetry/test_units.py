import pytest
from pydantic import BaseModel, ValidationError

from proxy.telemetry.units import Bytes, Seconds, parse_bytes, parse_duration


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("30s", 30), ("5m", 300), ("1h", 3_600), ("7d", 604_800), ("500ms", 0.5), ("2w", 1_209_600), (1.5, 1.5), ("9", 9)],
)
def test_reads_durations_as_people_write_them(written, seconds):
    """A duration is a number of seconds or a number with a unit."""
    assert parse_duration(written) == seconds


@pytest.mark.parametrize(
    ("written", "size"),
    [("64MiB", 64 << 20), ("1GiB", 1 << 30), ("10MB", 10_000_000), ("64k", 64_000), ("12", 12), (7, 7)],
)
def test_reads_sizes_as_people_write_them(written, size):
    """KiB counts in 1,024 and KB in 1,000."""
    assert parse_bytes(written) == size


@pytest.mark.parametrize("written", ["", "soon", "-3s", "3 parsecs", True, None, -1])
def test_refuses_what_is_no_duration(written):
    """Anything else is a mistake that the message explains."""
    with pytest.raises(ValueError, match="30s"):
        parse_duration(written)


@pytest.mark.parametrize("written", ["", "big", "-3MB", True, None, -1])
def test_refuses_what_is_no_size(written):
    """Anything else is a mistake that the message explains."""
    with pytest.raises(ValueError, match="64MiB"):
        parse_bytes(written)


def test_settings_take_both_units():
    """The annotated types work in a model, and a mistake becomes a validation error."""

    class Limits(BaseModel):
        wait: Seconds
        body: Bytes

    assert Limits(wait="2m", body="1KiB") == Limits(wait=120, body=1_024)
    with pytest.raises(ValidationError):
        Limits(wait="2 moons", body=1)
