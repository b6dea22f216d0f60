"""
How an upstream is reached, and by which name it is called.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from proxy.upstream.proxies import ForwardProxy, forward_proxy
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.trust import trust

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Way:
    """
    *authority* is the value of ``Host``; *tls* is ``None`` for plain HTTP; *timeout* is in seconds.

    *absolute* says that a forward proxy is asked for whole URLs.
    """

    host: str
    port: int
    authority: str
    timeout: float
    tls: ssl.SSLContext | None
    proxy: ForwardProxy | None
    absolute: bool


def way_to(settings: UpstreamSettings, environ: Mapping[str, str]) -> Way:
    """
    Return the way that settings and environment variables describe.
    """
    parts = urlsplit(settings.base_url)
    host, usual = parts.hostname or "", _PORTS[parts.scheme]
    port = parts.port or usual
    name = f"[{host}]" if ":" in host else host if host.isascii() else host.encode("idna").decode()
    tls = trust(settings)
    proxy = forward_proxy(settings.base_url, environ)
    return Way(
        host=host,
        port=port,
        authority=name if port == usual else f"{name}:{port}",
        timeout=settings.connect_timeout,
        tls=tls,
        proxy=proxy,
        absolute=proxy is not None and tls is None,
    )
