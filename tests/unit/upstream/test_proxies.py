import pytest

from proxy.upstream.proxies import proxy_for

ENVIRON = {"HTTPS_PROXY": "http://p:3128", "http_proxy": "p:3129"}


def test_takes_the_proxy_of_the_scheme():
    """
    In capitals or not, with a scheme or not.
    """
    assert proxy_for("https://api/v1", ENVIRON) == "http://p:3128"
    assert proxy_for("http://api/v1", ENVIRON) == "http://p:3129"


def test_falls_back_to_the_proxy_for_all():
    """
    ALL_PROXY serves what has no variable of its own.
    """
    assert proxy_for("https://api/v1", {"ALL_PROXY": "http://all:1"}) == "http://all:1"


def test_needs_no_proxy_without_variables():
    """
    The usual case.
    """
    assert proxy_for("https://api/v1", {}) is None


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:11434", "127.8.8.8", "[::1]:80"])
def test_never_proxies_loopback(host):
    """
    A forward proxy's loopback is not ours.
    """
    assert proxy_for(f"http://{host}/v1", ENVIRON) is None


@pytest.mark.parametrize(
    ("entries", "host", "direct"),
    [
        ("*", "api.x", True),
        ("x.org", "api.x.org", True),
        (".x.org", "x.org", True),
        ("*.x.org", "a.x.org", True),
        ("x.org", "notx.org", False),
        ("10.0.0.0/8, other", "10.2.3.4", True),
        ("10.0.0.0/8", "11.2.3.4", False),
        ("10.0.0.0/8", "api.x", False),
        ("192.168.1.5", "192.168.1.5", True),
        ("fd00::/8", "[fd00::1]", True),
        ("x.org:443", "x.org", True),
        ("x.org:8443", "x.org", False),
        ("nonsense/99 x.org", "x.org", True),
    ],
)
def test_leaves_out_what_no_proxy_covers(entries, host, direct):
    """
    Domains, addresses, networks and ports; an entry that makes no sense is skipped.
    """
    found = proxy_for(f"https://{host}/v1", ENVIRON | {"NO_PROXY": entries})

    assert (found is None) == direct
