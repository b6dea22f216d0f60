"""
Errors of the HTTP client, translated into ours.
"""

from __future__ import annotations

import aiohttp

from proxy.errors import UpstreamBrokenError, UpstreamError, UpstreamTimeoutError, UpstreamUnreachableError

CONNECTING = (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError, aiohttp.ClientHttpProxyError)
"""
Faults before anything was sent.
"""

FAULTS = (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError)


def translate(upstream: str, exc: BaseException) -> UpstreamError:
    """
    Return our error for *exc*; its text holds no URL, since a query may carry a key.
    """
    if isinstance(exc, aiohttp.ConnectionTimeoutError):
        return UpstreamTimeoutError(upstream, "connecting took too long")
    if isinstance(exc, aiohttp.ClientHttpProxyError):
        return UpstreamUnreachableError(upstream, f"the forward proxy answered {exc.status}")
    if isinstance(exc, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return UpstreamUnreachableError(upstream, "the TLS certificate or handshake was refused")
    if isinstance(exc, aiohttp.ClientConnectorDNSError):
        return UpstreamUnreachableError(upstream, "its host name cannot be resolved")
    if isinstance(exc, aiohttp.ClientConnectorError):
        return UpstreamUnreachableError(upstream, "no connection could be made")
    if isinstance(exc, TimeoutError):
        return UpstreamTimeoutError(upstream, "it stopped answering")
    if isinstance(exc, aiohttp.http.HttpProcessingError | aiohttp.ClientResponseError):
        return UpstreamBrokenError(upstream, "its answer is no HTTP")
    return UpstreamBrokenError(upstream, "the connection broke before the answer was complete")
