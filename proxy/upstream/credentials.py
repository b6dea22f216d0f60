"""
Whose key a request carries: the client's own, or one that the configuration lends it.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from proxy.upstream.wire import Headers

CLIENT_KEY_HEADER = "x-concertina-key"
_CREDENTIALS = frozenset({"authorization", "api-key", "x-api-key"})
_BEARER = "bearer "


def is_client_key(value: str, client_keys: Sequence[str]) -> bool:
    """
    Tell whether a header's value is one of the proxy's own client keys; takes the same time for every key.
    """
    secret = value[len(_BEARER) :] if value[: len(_BEARER)].lower() == _BEARER else value
    given = secret.strip().encode("utf-8", "surrogateescape")
    found = False
    for key in client_keys:
        found |= hmac.compare_digest(given, key.encode())
    return found


def admits(headers: Headers, client_keys: Sequence[str]) -> bool:
    """
    Tell whether the client presents a key of the proxy's, where the proxy asks for one.
    """
    if not client_keys:
        return True
    return any(
        is_client_key(value, client_keys)
        for name, value in headers
        if name.lower() in _CREDENTIALS or name.lower() == CLIENT_KEY_HEADER
    )


def without_client_keys(headers: Headers, client_keys: Sequence[str]) -> Headers:
    """
    Take out credentials that are ours: they open the proxy and are nothing to an upstream.
    """
    if not client_keys:
        return headers
    return tuple(
        (name, value)
        for name, value in headers
        if name.lower() not in _CREDENTIALS or not is_client_key(value, client_keys)
    )


def with_api_key(headers: Headers, api_key: str | None, *, name: str = "Authorization") -> Headers:
    """
    Lend *api_key* to a request that carries no credential; the client's own always wins.
    """
    if api_key is None or any(header.lower() in _CREDENTIALS for header, _ in headers):
        return headers
    value = f"Bearer {api_key}" if name.lower() == "authorization" else api_key
    return (*headers, (name, value))
