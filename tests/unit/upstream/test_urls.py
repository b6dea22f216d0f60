import pytest

from proxy.errors import BadRequestError
from proxy.upstream.urls import join


@pytest.mark.parametrize(
    ("base", "target", "expected"),
    [
        ("http://h/v1", "/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1", "/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1/", "/v1/models", "http://h/v1/models"),
        ("http://h", "/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h", "/chat/completions", "http://h/v1/chat/completions"),
        ("http://h:8000", "/v1", "http://h:8000/v1"),
        ("https://g/v1beta/openai", "/v1/chat/completions", "https://g/v1beta/openai/chat/completions"),
        ("https://g/v1beta/openai/", "/chat/completions", "https://g/v1beta/openai/chat/completions"),
        ("https://g/v1beta/openai", "/v1beta/openai/models", "https://g/v1beta/openai/models"),
        ("https://z/api/paas/v4", "/v1/chat/completions", "https://z/api/paas/v4/chat/completions"),
        ("https://d/v1/openai", "/v1/chat/completions", "https://d/v1/openai/chat/completions"),
        ("https://o/api/v1", "/v1/models", "https://o/api/v1/models"),
        ("https://o/api/v1", "/api/v1/models", "https://o/api/v1/models"),
        (
            "https://a/openai",
            "/openai/deployments/D/chat/completions",
            "https://a/openai/deployments/D/chat/completions",
        ),
        ("https://a", "/openai/deployments/D/chat/completions", "https://a/openai/deployments/D/chat/completions"),
        ("https://a/openai/v1", "/openai/deployments/D/embeddings", "https://a/openai/deployments/D/embeddings"),
        ("https://a/openai/v1", "/v1/chat/completions", "https://a/openai/v1/chat/completions"),
        ("http://l/v1", "/props", "http://l/props"),
        ("http://l/v1", "/api/show", "http://l/api/show"),
        ("http://l", "/health", "http://l/health"),
        ("http://gw/team/v1", "/unknown", "http://gw/team/v1/unknown"),
        ("http://h/v1", "/", "http://h/"),
    ],
)
def test_joins_whatever_base_the_server_has_and_whatever_the_client_writes(base, target, expected):
    """
    With ``/v1``, with another prefix or with none, on either side.
    """
    assert join(base, target) == expected


@pytest.mark.parametrize("query", ["?api-version=2024-10-21", "?a=%20+%2F&b", "?", "?q=a?b"])
def test_keeps_the_query_as_it_is(query):
    """
    Azure's api-version and everything else after the first question mark.
    """
    assert join("http://h/v1", "/v1/models" + query) == "http://h/v1/models" + query


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/local/v1/models", "http://h/v1/models"),
        ("/local/chat/completions", "http://h/v1/chat/completions"),
        ("/localhost/x", "http://h/localhost/x"),
        ("/local", "http://h/"),
    ],
)
def test_strips_the_prefix_of_a_route(target, expected):
    """
    Only where it is a whole path segment.
    """
    assert join("http://h/v1", target, strip="/local/") == expected


@pytest.mark.parametrize(
    "path",
    [
        "/../x",
        "/v1/../../x",
        "/v1/..",
        "/v1/%2e%2e/x",
        "/v1/.%2E/x",
        "/v1/%252e%252e/x",
        "/v1/%25252e%25252e/x",
        "/v1/..%2fx",
        "/v1/..\\x",
        "/v1/%2e%2e%5cx",
        "/v1/..;/x",
        "v1/x",
        "http://evil/x",
    ],
)
def test_refuses_a_path_that_climbs(path):
    """
    In plain text, encoded once, twice or three times, or with the other slash.
    """
    with pytest.raises(BadRequestError):
        join("http://h/v1", path)


@pytest.mark.parametrize("path", ["/v1/files/a..b", "/v1/models/...", "/v1/models/org%2Fname", "/v1/models/a%20b"])
def test_lets_harmless_dots_and_escapes_pass(path):
    """
    Model names hold dots and slashes.
    """
    assert join("http://h/v1", path) == "http://h" + path


@pytest.mark.parametrize("target", ["//evil/x", "/@evil/x", "/v1/x#@evil/", "/v1/x?u=http://evil"])
def test_never_leaves_the_server(target):
    """
    What looks like another authority stays a path of this one.
    """
    url = join("http://h/v1", target)

    assert url.startswith("http://h/")
    assert "#" not in url
