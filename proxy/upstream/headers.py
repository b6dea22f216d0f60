"""
Which headers pass: all but those that belong to one hop, and our own.
"""

from __future__ import annotations

from collections.abc import Mapping

from proxy.upstream.wire import Headers

OURS = "x-concertina-"
HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_REQUEST_ONLY = HOP_BY_HOP | {"host", "expect"}
# Naming one of these in Connection must not make the message unreadable.
_KEPT = frozenset({"content-length", "content-type", "content-encoding"})
_BARE = frozenset({"close", "keep-alive"})


def request_headers(headers: Headers, *, drop: frozenset[str] = frozenset(), body_size: int | None = None) -> Headers:
    """
    Return the client's headers as the upstream should get them.

    *drop* holds lower-case names; *body_size* corrects ``Content-Length`` in its place (``None``: the body is streamed,
    as long as the client says).
    """
    gone = _REQUEST_ONLY | drop if drop else _REQUEST_ONLY
    kept = []
    listed = False
    for pair in headers:
        lower = pair[0].lower()
        if lower in gone or lower.startswith(OURS):
            listed = listed or lower == "connection"
        elif lower == "content-length" and body_size is not None:
            kept.append((pair[0], str(body_size)))
        else:
            kept.append(pair)
    return _without_listed(kept, headers) if listed else tuple(kept)


def response_headers(headers: Headers) -> Headers:
    """
    Return the upstream's headers as the client should get them.
    """
    kept = []
    listed = chunked = False
    for pair in headers:
        lower = pair[0].lower()
        if lower not in HOP_BY_HOP:
            kept.append(pair)
        elif lower == "connection":
            # Nearly all say nothing but whether they stay.
            listed = listed or pair[1].lower() not in _BARE
        elif lower == "transfer-encoding":
            chunked = True
    if chunked:
        # Chunks say where the body ends; a length beside them is not to be trusted.
        kept = [pair for pair in kept if pair[0].lower() != "content-length"]
    return _without_listed(kept, headers) if listed else tuple(kept)


def with_added(headers: Headers, added: Mapping[str, str]) -> Headers:
    """
    Return *headers* with those of the configuration, which replace the client's of the same name.
    """
    if not added:
        return headers
    names = {name.lower() for name in added}
    return (*(pair for pair in headers if pair[0].lower() not in names), *added.items())


def _without_listed(kept: list[tuple[str, str]], headers: Headers) -> Headers:
    """
    Take out what ``Connection`` declares to be of one hop.
    """
    values = [value for name, value in headers if name.lower() == "connection"]
    listed = {token.strip().lower() for value in values for token in value.split(",")} - _KEPT
    return tuple(pair for pair in kept if pair[0].lower() not in listed)
