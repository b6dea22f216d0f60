"""
Which route takes a request: the first that matches, else the first upstream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from proxy.pipeline.settings import CompactionSettings, MatchSettings, RecoverySettings, RouteSettings
from proxy.upstream.wire import Headers

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
        self.needs_model = any(route.match.model for route in routes)

    @property
    def routes(self) -> tuple[RouteSettings, ...]:
        """
        Every route, the implicit one last.
        """
        return (*self._routes, self._fallback)

    def match(self, target: str, headers: Headers, model: str) -> RouteSettings:
        """
        Return the route of a request.
        """
        path = target.partition("?")[0]
        values = {name.lower(): value for name, value in headers}
        return next((route for route in self._routes if _matches(route.match, path, values, model)), self._fallback)


def _matches(match: MatchSettings, path: str, headers: Mapping[str, str], model: str) -> bool:
    if match.model is not None and not fnmatchcase(model, match.model):
        return False
    if match.path is not None and not fnmatchcase(path, match.path):
        return False
    return all(fnmatchcase(headers.get(name.lower(), ""), glob) for name, glob in match.header.items())
