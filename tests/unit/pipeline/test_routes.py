"""
Which route takes a request.
"""

from typing import Any

import pytest

from proxy.chat.json import dumps
from proxy.pipeline.routes import Router
from proxy.pipeline.settings import CompactionSettings, MatchSettings, RecoverySettings, RouteSettings
from proxy.upstream.wire import Incoming


def router_of(*routes: RouteSettings) -> Router:
    """
    Return a router whose first upstream is called first.
    """
    return Router(routes, first_upstream="first", compaction=CompactionSettings(), recovery=RecoverySettings())


def asked(model: str, target: str = "/v1/chat/completions", *headers: tuple[str, str]) -> Incoming:
    """
    Return a chat request for *model*.
    """
    return Incoming("POST", target, headers, dumps({"model": model}))


def route(name: str, keepalive_after: float = 40, **match: Any) -> RouteSettings:
    """
    Return a route to the upstream *name*.
    """
    return RouteSettings(
        name=name,
        upstream=name,
        match=MatchSettings(**match),
        compaction=CompactionSettings(keepalive_after=keepalive_after),
    )


@pytest.mark.parametrize(
    ("incoming", "name"),
    [
        (asked("qwen3"), "qwen"),
        (asked("gpt-4o", "/local/v1/chat/completions?x=1"), "path"),
        (asked("gpt-4o", "/v1/chat/completions", ("X-Team", "search")), "header"),
        (asked("gpt-4o", "/v1/chat/completions", ("X-Team", "search"), ("x-team", "other")), "header"),
        (asked("gpt-4o"), "default"),
        (Incoming("POST", "/v1/chat/completions", (), b"no json"), "default"),
        (Incoming("POST", "/v1/chat/completions", (), b'["qwen3"]'), "default"),
        (Incoming("POST", "/v1/chat/completions", (), b'{"model": 7}'), "default"),
    ],
)
def test_the_first_route_that_matches_takes_a_request(incoming: Incoming, name: str) -> None:
    """
    By model, path or header, the first where it came twice; what names no model goes where no model is asked for.
    """
    router = router_of(
        route("qwen", model="qwen*"), route("path", path="/local/*"), route("header", header={"x-team": "s*"})
    )

    assert router.of(incoming).name == name


def test_a_route_matched_by_model_says_how_long_its_streams_may_be_silent() -> None:
    """
    The wait before a comment is that of the request's own route, whatever told it.
    """
    router = router_of(route("slow", 5, model="slow-*"), route("hasty", 1, model="hasty-*"))

    assert [router.keepalive_after(asked(model)) for model in ("slow-1", "hasty-1", "other")] == [5, 1, 40]


def test_a_body_is_not_parsed_where_no_route_asks_for_a_model() -> None:
    """
    A route by path is found without a look at the body.
    """
    router = router_of(route("path", path="/local/*"))

    assert not router.needs_model
    assert router.of(Incoming("POST", "/local/v1/embeddings", (), b"{" * 100_000)).name == "path"


def test_a_request_that_cannot_be_matched_has_one_way_or_none() -> None:
    """
    Where routes lead to several upstreams, its key must not reach one that it was not meant for.
    """
    one = router_of(route("first", path="/a/*"), route("first", path="/b/*"))
    several = router_of(route("first", path="/a/*"), route("second", path="/b/*"))

    assert one.only().upstream == "first"
    with pytest.raises(LookupError, match="several upstreams"):
        several.only()
