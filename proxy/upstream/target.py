"""
An upstream as one route sees it: makes what goes out from what came in.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlsplit

from proxy.upstream.credentials import with_api_key, without_client_keys
from proxy.upstream.headers import request_headers, with_added
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.tunnel import UPGRADE, asks_upgrade
from proxy.upstream.urls import join
from proxy.upstream.wire import Incoming, Outgoing

_LONGEST_KNOWN = 500
"""Characters of a target whose URL is remembered."""
_known = lru_cache(maxsize=256)(join)
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


@dataclass(frozen=True, slots=True)
class UpstreamTarget:
    """
    The upstream called *name*; *strip* is the route's prefix, *client_keys* are the keys that open this proxy.
    """

    name: str
    settings: UpstreamSettings
    strip: str = ""
    client_keys: tuple[str, ...] = field(default=(), repr=False)
    _turns: Iterator[str] = field(init=False, repr=False, compare=False)
    _drop: frozenset[str] = field(init=False, repr=False, compare=False)
    _key_header: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        host = urlsplit(self.settings.base_url).hostname or ""
        object.__setattr__(self, "_turns", itertools.cycle(self.settings.api_keys))
        object.__setattr__(self, "_drop", frozenset(name.lower() for name in self.settings.drop_headers))
        object.__setattr__(self, "_key_header", "api-key" if host.endswith(_AZURE) else "Authorization")

    def outgoing(self, incoming: Incoming, body: bytes | AsyncIterable[bytes] | None = None) -> Outgoing:
        """
        Return the request for the upstream, with the client's body unless another *body* is given.
        """
        body = incoming.body if body is None else body
        size = len(body) if isinstance(body, bytes) else None
        headers = request_headers(incoming.headers, drop=self._drop, body_size=size)
        headers = without_client_keys(headers, self.client_keys)
        if self.settings.headers:
            headers = with_added(headers, self.settings.headers)
        headers = with_api_key(headers, next(self._turns, None), name=self._key_header)
        if incoming.method == "GET" and asks_upgrade(incoming.headers):
            headers = (*headers, *UPGRADE)
        target = incoming.target
        # Clients choose targets: nothing of a length that could fill the memory is remembered.
        url = (_known if len(target) <= _LONGEST_KNOWN else join)(self.settings.base_url, target, strip=self.strip)
        return Outgoing(self.name, incoming.method, url, headers, body)
