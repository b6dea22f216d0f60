"""
Send a plan to the upstream of its route.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from proxy.pipeline.decoding import READABLE
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.heads import Heads
from proxy.pipeline.plan import Plan
from proxy.pipeline.routes import Router
from proxy.upstream.client import UpstreamClient
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.target import UpstreamTarget
from proxy.upstream.wire import Answer, Headers, Incoming

ENCODING_HEADER = "accept-encoding"


class Sending:
    """
    Knows the upstream of every route, and sends.
    """

    def __init__(
        self,
        client: UpstreamClient,
        router: Router,
        upstreams: Mapping[str, UpstreamSettings],
        *,
        client_keys: tuple[str, ...],
    ) -> None:
        self._client = client
        self._router = router
        self._targets = {
            route.name: UpstreamTarget(route.upstream, upstreams[route.upstream], route.strip or "", client_keys)
            for route in router.routes
        }
        self._by_upstream = {
            name: UpstreamTarget(name, settings, "", client_keys) for name, settings in upstreams.items()
        }

    async def send(self, exchange: Exchange, plan: Plan) -> Answer:
        """
        Return the upstream's answer to *plan* as soon as its headers are there.
        """
        incoming = exchange.incoming
        headers = incoming.headers
        if plan.asked_usage:
            # A frame can only be taken out of a stream that can be read.
            kept = tuple((name, value) for name, value in headers if name.lower() != ENCODING_HEADER)
            headers = (*kept, (ENCODING_HEADER, "identity"))
        elif exchange.mode in {"compact", "recover"}:
            headers = _readable(headers, exchange.heads)
        headers = exchange.trace.main_call(headers, model=exchange.model)
        if headers is not incoming.headers:
            incoming = incoming._replace(headers=headers)
        return await self._client.send(self._targets[exchange.route.name].outgoing(incoming, plan.body))

    def of_request(self, incoming: Incoming) -> UpstreamTarget:
        """
        Return where a request that is no chat completion goes.
        """
        return self._targets[self._router.of(incoming).name]

    def of_summary(self, route: str, upstream: str | None) -> UpstreamTarget:
        """
        Return where summariser calls go: the route's own upstream, or the one that the settings name.
        """
        return self._targets[route] if upstream is None else self._by_upstream[upstream]


def _readable(headers: Headers, heads: Heads) -> Headers:
    """
    Return *headers* that offer those codings alone that we can read: a refusal in another is never recovered from.
    """
    offer = heads.get(ENCODING_HEADER)
    # As many names as headers: none came twice.
    if offer is None or (len(heads) == len(headers) and _codings(offer) == offer):
        return headers
    return tuple((name, _codings(value) if name.lower() == ENCODING_HEADER else value) for name, value in headers)


@lru_cache(maxsize=64)
def _codings(value: str) -> str:
    offered = [one.strip() for one in value.split(",")]
    kept = [one for one in offered if one.partition(";")[0].strip().lower() in READABLE - {""}]
    return value if kept == offered else ", ".join(kept) or "identity"
