import pytest

from proxy.telemetry.address import is_loopback, split_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [("127.0.0.1:8080", ("127.0.0.1", 8080)), ("[::1]:0", ("::1", 0)), ("example.org:65535", ("example.org", 65535))],
)
def test_splits_host_and_port(text: str, expected: tuple[str, int]) -> None:
    """
    IPv6 hosts stand in brackets.
    """
    assert split_address(text) == expected


@pytest.mark.parametrize("text", ["", "8080", ":8080", "localhost", "::1:80", "a:65536", "a:b", "http://a:80", "a b:1"])
def test_refuses_what_is_no_address(text: str) -> None:
    """
    A host is always named, so that nobody is exposed by leaving it out.
    """
    with pytest.raises(ValueError, match="is no address"):
        split_address(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:1", True),
        ("127.8.8.8:1", True),
        ("[::1]:1", True),
        ("LOCALHOST:1", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("192.168.1.2:1", False),
        ("example.org:1", False),
    ],
)
def test_knows_what_only_this_machine_reaches(text: str, expected: bool) -> None:
    """
    A name that is not localhost may be anything.
    """
    assert is_loopback(text) is expected
