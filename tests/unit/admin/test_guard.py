"""
Who may use the admin port.
"""

from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from proxy.admin.guard import Guard

LOOPBACK, OPEN = "127.0.0.1:8081", "0.0.0.0:8081"


def status(guard: Guard, *, method: str = "GET", path: str = "/api/stats", **headers: Any) -> int:
    """
    Return what a request is refused with, 200 where it is let in.
    """
    named = {name.replace("_", "-"): value for name, value in {"Host": "127.0.0.1:8081", **headers}.items()}
    refused = guard._refused(make_mocked_request(method, path, headers=named))
    return refused.status if refused is not None else 200


@pytest.mark.parametrize("host", ["127.0.0.1:8081", "localhost:9000", "[::1]:8081", "LOCALHOST", "10.0.0.3:8081"])
def test_addresses_and_localhost_are_known_hosts(host: str) -> None:
    """
    With any port, since ports are forwarded; an address cannot be rebound.
    """
    assert status(Guard(LOOPBACK, None), Host=host) == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8081", "localhost.evil.example", ""])
def test_a_name_that_was_rebound_is_refused(host: str) -> None:
    """
    The browser believes that it talks to another site.
    """
    assert status(Guard(LOOPBACK, None), Host=host) == 403


def test_beyond_loopback_any_name_will_do_with_the_token() -> None:
    """
    The proxy cannot know what it is called; the token is what counts.
    """
    guard = Guard(OPEN, "secret")

    assert status(guard, Host="proxy.internal:8081", Authorization="Bearer secret") == 200
    assert status(guard, Host="proxy.internal:8081") == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:3000", "null"])
def test_pages_of_others_may_ask_nothing(origin: str) -> None:
    """
    A form or script of another site could post to loopback.
    """
    assert status(Guard(LOOPBACK, None), method="POST", path="/api/compact", Origin=origin) == 403


def test_the_dashboard_itself_may() -> None:
    """
    Its origin is the host it was loaded from.
    """
    assert status(Guard(LOOPBACK, None), method="POST", path="/api/compact", Origin="http://127.0.0.1:8081") == 200


@pytest.mark.parametrize(("site", "expected"), [("same-origin", 200), ("none", 200), ("cross-site", 403)])
def test_what_browsers_say_of_the_site_counts(site: str, expected: int) -> None:
    """
    An image or script tag of another site sends no origin.
    """
    assert status(Guard(LOOPBACK, None), Sec_Fetch_Site=site) == expected


def test_a_link_to_the_dashboard_works() -> None:
    """
    From a wiki or a chat.
    """
    assert status(Guard(LOOPBACK, None), path="/", Sec_Fetch_Site="cross-site") == 200


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer wrong", "Basic secret", "Bearer secre", "Bearer secrets", "Bearer sécret"]
)
def test_a_token_once_set_is_needed_everywhere(given: str) -> None:
    """
    On loopback as well, for data and metrics.
    """
    guard = Guard(LOOPBACK, "secret")

    assert status(guard, Authorization=given) == 401
    assert status(guard, path="/metrics", Authorization=given) == 401
    assert status(guard, Authorization="bearer secret") == 200


@pytest.mark.parametrize("path", ["/", "/assets/app.js"])
def test_the_page_itself_is_open(path: str) -> None:
    """
    It holds no data, and has to be there to ask for the token.
    """
    assert status(Guard(OPEN, "secret"), path=path) == 200
