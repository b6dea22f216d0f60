"""
Who may use the admin port: right host, right origin, right token.
"""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from proxy.admin.answers import refusal
from proxy.telemetry.address import is_loopback

PUBLIC = ("/", "/assets/")
"""The page itself holds no data, so a browser may load it before its user has typed the token."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """
    Refuses what a page of somebody else's could make a browser send, and whoever does not know the token.
    """

    def __init__(self, listen: str, token: str | None) -> None:
        self._token = token.encode() if token else b""
        self._names = _names(listen) if is_loopback(listen) else None

    @property
    def middleware(self) -> Middleware:
        """
        Return the check as aiohttp wants it.
        """

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            return self._refused(request) or await handler(request)

        return check

    def _refused(self, request: web.Request) -> web.Response | None:
        if not self._known_host(request.headers.get("Host", "")):
            return refusal(403, "This host name is not the admin port's; a page elsewhere may have made it up.", "host")
        if not _same_origin(request):
            return refusal(403, "Only the dashboard of this very port may ask that.", "origin")
        if not self._admitted(request):
            return refusal(
                401, "The admin token is needed, as a bearer token.", "token", headers={"WWW-Authenticate": "Bearer"}
            )
        return None

    def _known_host(self, host: str) -> bool:
        """
        Tell whether a name is ours: DNS rebinding makes a browser send the name of another site to this address.

        An address in the stead of a name cannot be rebound. Beyond loopback the token is what counts.
        """
        name = _name_of(host)
        return self._names is None or name in self._names or _is_address(name)

    def _admitted(self, request: web.Request) -> bool:
        if not self._token or request.path == PUBLIC[0] or request.path.startswith(PUBLIC[1]):
            return True
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        given_bytes = given.strip().encode("utf-8", "surrogateescape")
        return scheme.lower() == "bearer" and hmac.compare_digest(given_bytes, self._token)


def _same_origin(request: web.Request) -> bool:
    """
    Tell whether no other site's page is behind a request; what is no browser sends neither header.
    """
    if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
        return request.path == PUBLIC[0] and request.method == "GET"  # a link to the dashboard
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc.lower() == request.headers.get("Host", "").lower()


def _names(listen: str) -> frozenset[str]:
    return frozenset({"localhost", _name_of(listen)})


def _name_of(host: str) -> str:
    """
    Return a ``Host`` without its port, in lower case; any port will do, since ports are forwarded.
    """
    bare, _, port = host.rpartition(":")
    name = bare if bare and port.isdigit() else host
    return name.strip("[]").lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
