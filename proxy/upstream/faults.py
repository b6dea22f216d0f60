"""
What goes wrong with a connection, told as errors of ours.

No text holds a URL, since a query may carry a key.
"""

from __future__ import annotations

import socket
import ssl

from proxy.errors import UpstreamBrokenError, UpstreamError, UpstreamTimeoutError, UpstreamUnreachableError


class ForwardProxyError(Exception):
    """
    A forward proxy does not lead to the upstream; the text says why.
    """


def unreachable(upstream: str, exc: BaseException) -> UpstreamError:
    """
    Return our error for *exc*, which happened before anything was sent.
    """
    if isinstance(exc, TimeoutError):
        return UpstreamTimeoutError(upstream, "connecting took too long")
    if isinstance(exc, ForwardProxyError):
        return UpstreamUnreachableError(upstream, str(exc))
    if isinstance(exc, ssl.SSLError | ssl.CertificateError):
        return UpstreamUnreachableError(upstream, "the TLS certificate or handshake was refused")
    if isinstance(exc, socket.gaierror | UnicodeError):
        return UpstreamUnreachableError(upstream, "its host name cannot be resolved")
    return UpstreamUnreachableError(upstream, "no connection could be made")


def broken(upstream: str, exc: BaseException | None) -> UpstreamError:
    """
    Return our error for a connection that *exc*, or the upstream's hanging up, has ended too early.
    """
    if isinstance(exc, TimeoutError):
        return UpstreamTimeoutError(upstream, "it stopped answering")
    return UpstreamBrokenError(upstream, "the connection broke before the answer was complete")


def no_http(upstream: str) -> UpstreamError:
    """
    Return our error for an answer that cannot be read.
    """
    return UpstreamBrokenError(upstream, "its answer is no HTTP")
