"""
Whether a URL leads to an address that the proxy itself listens on.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from urllib.parse import urlsplit

from proxy.telemetry.address import split_address

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


def leads_to(url: str, listen: str) -> bool:
    """
    Tell whether *url* is answered by whoever listens on *listen*.
    """
    parts = urlsplit(url)
    host, port = split_address(listen)
    if (parts.port or (443 if parts.scheme == "https" else 80)) != port or not parts.hostname:
        return False
    mine, theirs = addresses(host), addresses(parts.hostname)
    if any(ip.is_unspecified for ip in mine):
        # Every address of this machine; which those are, a connectionless socket tells.
        return any(ip.is_loopback or ip.is_unspecified or _is_local(ip) for ip in theirs)
    return bool(mine & theirs) or any(ip.is_unspecified for ip in theirs)


def addresses(host: str) -> frozenset[Ip]:
    """
    Return the addresses of a host, none where its name is unknown.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return frozenset()
    return frozenset(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found)


def _is_local(ip: Ip) -> bool:
    family = socket.AF_INET6 if ip.version == 6 else socket.AF_INET
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as tried:
        tried.bind((str(ip), 0))
        return True
    return False
