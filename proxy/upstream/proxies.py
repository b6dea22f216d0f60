"""
Which forward proxy leads to an upstream, by the usual environment variables.
"""

from __future__ import annotations

import base64
import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from proxy.upstream.faults import ForwardProxyError


@dataclass(frozen=True, slots=True)
class ForwardProxy:
    """
    Where a forward proxy listens; *authorization* is the value of ``Proxy-Authorization``.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    authorization: str | None = field(default=None, repr=False)


def forward_proxy(url: str, environ: Mapping[str, str]) -> ForwardProxy | None:
    """
    Return the forward proxy for *url*. Raises ``ForwardProxyError`` where its own address is not understood.
    """
    address = proxy_for(url, environ)
    if address is None:
        return None
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in {"http", "https"}:
        raise ForwardProxyError("its forward proxy has no address that begins with http:// or https://")
    secure = parts.scheme == "https"
    return ForwardProxy(
        host=host,
        port=port or (443 if secure else 80),
        tls=ssl.create_default_context() if secure else None,
        authorization=_basic(parts.username, parts.password),
    )


def proxy_for(url: str, environ: Mapping[str, str]) -> str | None:
    """
    Return the forward proxy for *url*: ``HTTPS_PROXY``, ``HTTP_PROXY`` or ``ALL_PROXY``, unless ``NO_PROXY`` covers it.

    Loopback is never proxied. An entry of ``NO_PROXY`` is ``*``, a domain, an address, a network (CIDR), or one with a port.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    proxy = _variable(environ, f"{parts.scheme}_proxy") or _variable(environ, "all_proxy")
    if not proxy or _is_loopback(host):
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    entries = _variable(environ, "no_proxy").replace(",", " ").split()
    if any(_covers(entry.lower(), host, port) for entry in entries):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _basic(username: str | None, password: str | None) -> str | None:
    if username is None:
        return None
    pair = f"{unquote(username)}:{unquote(password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _covers(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    address = _address(host)
    if address is not None and (network := _network(entry)) is not None:
        return address in network
    name, _, digits = entry.rpartition(":")
    if name and digits.isdigit():
        if int(digits) != port:
            return False
        entry = name.strip("[]")
    domain = entry.removeprefix("*").lstrip(".")
    return bool(domain) and (host == domain or host.endswith("." + domain))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
