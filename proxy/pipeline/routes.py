"""
Which route takes a request: the first that matches, else the first upstream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from proxy.chat.json import loads
from proxy.pipeline.heads import Heads, by_name
from proxy.pipeline.settings import CompactionSettings, MatchSettings, RecoverySettings, RouteSettings
from proxy.upstream.wire import Headers, Incoming

DEFAULT_ROUTE = "default"


class Router:
    """
    Matches requests against the routes in order.
    """

    def __init__(
        self,
        routes: Sequence[RouteSettings],
        *,
        first_upstream: str,
        compaction: CompactionSettings,
        recovery: RecoverySettings,
    ) -> None:
        self._routes = tuple(routes)
        self._fallback = RouteSettings(
            name=DEFAULT_ROUTE, upstream=first_upstream, compaction=compaction, recovery=recovery
        )
        self._needs_model = any(route.match.model for route in routes)
        self._always = next((route for route in self.routes[:1] if route.match.everything), None)
        self._keepalives = {route.compaction.keepalive_after for route in self.routes}

    @property
    def routes(self) -> tuple[RouteSettings, ...]:
        """
        Every route, the implicit one last.
        """
        return (*self._routes, self._fallback)

    @property
    def needs_model(self) -> bool:
        """
        Whether a request's body has to be known to tell its route.
        """
        return self._needs_model

    def of(self, incoming: Incoming, model: str | None = None) -> RouteSettings:
        """
        Return the route of a request; where a route asks for a *model* not yet known, the body is parsed for it.
        """
        if self._always is not None:
            return self._always
        if model is None:
            model = _model_of(incoming.body) if self._needs_model else ""
        return self._match(incoming.target, incoming.headers, model)

    def only(self) -> RouteSettings:
        """
        Return the route of a request that cannot be matched. Raises ``LookupError`` where routes lead to several
        upstreams: a key must not reach one that its request was not meant for.
        """
        if {route.upstream for route in self.routes} != {self._fallback.upstream}:
            raise LookupError("there are several upstreams")
        return self._fallback

    def keepalive_after(self, incoming: Incoming) -> float:
        """
        Return how many seconds a streaming client of this request may be left without a byte.
        """
        if len(self._keepalives) == 1:
            return next(iter(self._keepalives))
        return self.of(incoming).compaction.keepalive_after

    def _match(self, target: str, headers: Headers, model: str) -> RouteSettings:
        path = target.partition("?")[0]
        heads = by_name(headers)
        return next((route for route in self._routes if _matches(route.match, path, heads, model)), self._fallback)


def _matches(match: MatchSettings, path: str, heads: Heads, model: str) -> bool:
    if match.model is not None and not fnmatchcase(model, match.model):
        return False
    if match.path is not None and not fnmatchcase(path, match.path):
        return False
    return all(fnmatchcase(heads.get(name.lower(), ""), glob) for name, glob in match.header.items())


def _model_of(body: bytes) -> str:
    try:
        data = loads(body)
    except ValueError:
        return ""
    model = data.get("model") if isinstance(data, Mapping) else None
    return model if isinstance(model, str) else ""
