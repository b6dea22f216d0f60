from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.target import UpstreamTarget
from proxy.upstream.wire import Incoming


def target(base="http://h/v1", **settings):
    return UpstreamTarget("up", UpstreamSettings(base_url=base, **settings))


def incoming(*headers, body=b"{}"):
    return Incoming("POST", "/v1/chat/completions?a=1", headers, body)


def test_makes_the_request_for_its_upstream():
    """
    Name, method, URL, headers and body.
    """
    out = target().outgoing(incoming(("Content-Length", "2")))

    assert (out.upstream, out.method, out.url) == ("up", "POST", "http://h/v1/chat/completions?a=1")
    assert (out.headers, out.body) == ((("Content-Length", "2"),), b"{}")


def test_sends_another_body_with_its_own_length():
    """
    A compacted body is shorter than the client's.
    """
    out = target().outgoing(incoming(("Content-Length", "2")), b"shorter")

    assert (out.headers, out.body) == ((("Content-Length", "7"),), b"shorter")


def test_uses_its_keys_in_turn():
    """
    Several keys share the load.
    """
    up = target(api_keys=("a", "b"))

    assert [up.outgoing(incoming()).headers[-1][1] for _ in range(3)] == ["Bearer a", "Bearer b", "Bearer a"]


def test_gives_azure_its_own_header():
    """
    Azure takes keys in ``api-key``.
    """
    up = target("https://r.openai.azure.com/openai", api_keys=("k",))

    assert up.outgoing(incoming()).headers == (("api-key", "k"),)


def test_drops_and_adds_what_the_settings_say():
    """
    The client's x-internal stays here, x-team comes from us.
    """
    up = target(drop_headers=("X-Internal",), headers={"x-team": "search"})

    assert up.outgoing(incoming(("x-internal", "1"))).headers == (("x-team", "search"),)


def test_does_not_show_its_client_keys():
    """
    Whoever prints a target prints no secret.
    """
    up = UpstreamTarget("up", UpstreamSettings(base_url="http://h", api_keys=("sk-secret",)), "", ("ck-secret",))

    assert "secret" not in repr(up)
