import pytest

from proxy.upstream.headers import request_headers, response_headers, with_added


def test_passes_unknown_headers_in_their_order():
    """
    A deny-list: what nobody has heard of goes through, duplicates too.
    """
    headers = (("X-B", "1"), ("authorization", "k"), ("x-b", "2"), ("traceparent", "t"))

    assert request_headers(headers) == headers


@pytest.mark.parametrize(
    "name",
    ["Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Connection", "Host", "Expect"],
)
def test_drops_what_belongs_to_one_hop(name):
    """
    In any case of letters.
    """
    assert request_headers(((name, "x"), (name.lower(), "x"))) == ()


def test_drops_what_connection_lists():
    """
    Over several rows, with blanks and capitals.
    """
    headers = (
        ("Connection", "close, X-One"),
        ("connection", " x-TWO"),
        ("x-one", "1"),
        ("X-Two", "2"),
        ("x-three", "3"),
    )

    assert request_headers(headers) == (("x-three", "3"),)


def test_keeps_the_length_although_connection_lists_it():
    """
    A message whose length is hidden could be read as two.
    """
    assert response_headers((("Connection", "content-length"), ("Content-Length", "3"))) == (("Content-Length", "3"),)


def test_corrects_the_length_in_its_place():
    """
    A changed body has another length; the row stays where it was.
    """
    headers = (("a", "1"), ("Content-Length", "10"), ("b", "2"))

    assert request_headers(headers, body_size=7) == (("a", "1"), ("Content-Length", "7"), ("b", "2"))


def test_drops_what_the_settings_name():
    """
    Signed upstreams refuse headers they do not know.
    """
    assert request_headers((("X-Internal", "1"), ("x-ok", "1")), drop=frozenset({"x-internal"})) == (("x-ok", "1"),)


def test_drops_the_length_of_a_chunked_answer():
    """
    Beside chunks a length says nothing, and two framings are a trap.
    """
    headers = (("Transfer-Encoding", "chunked"), ("Content-Length", "5"), ("etag", "x"))

    assert response_headers(headers) == (("etag", "x"),)


def test_adds_configured_headers_in_place_of_the_clients():
    """
    The configuration has the last word.
    """
    assert with_added((("X-Team", "a"), ("b", "1")), {"x-team": "search"}) == (("b", "1"), ("x-team", "search"))
