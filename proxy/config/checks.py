"""
Mistakes that only two settings together make.

These look at what was written rather than at the models, so that they also speak where something else is wrong.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from typing import Any

from proxy.config.explain import did_you_mean
from proxy.config.merge import Tree
from proxy.config.mistakes import Path
from proxy.telemetry.address import is_loopback
from proxy.telemetry.traces import MISSING, installed

Found = Iterator[tuple[Path, str]]

NO_UPSTREAM = "there is no upstream: give --upstream URL, set CONCERTINA_UPSTREAM, or name one under upstreams"
OPEN_TO_ALL = (
    "is open to other machines while upstream {} holds api_keys, which anybody could spend: "
    "set client_keys, or listen on 127.0.0.1"
)


def cross_checks(data: Tree) -> Found:
    """
    Yield path and cause of every such mistake; *data* has complete routes.
    """
    yield from _exposed(data)
    yield from _exposed_admin(data)
    yield from _namespace_without_keys(data)
    if data.get("otlp") and not installed():
        yield ("otlp",), MISSING
    upstreams = _mapping(data.get("upstreams"))
    for key, upstream in upstreams.items():
        yield from _authorities(_mapping(upstream), ("upstreams", key, "ca_file"))
    seen: set[str] = set()
    routes = data["routes"] if isinstance(data["routes"], list) else []
    for index, route in enumerate(routes):
        yield from _route(_mapping(route), ("routes", index), upstreams)
        name = _mapping(route).get("name")
        if isinstance(name, str) and name in seen:
            yield ("routes", index, "name"), "is the name of an earlier route"
        seen.add(str(name))


def _exposed(data: Tree) -> Found:
    holding = [name for name, upstream in _mapping(data.get("upstreams")).items() if _mapping(upstream).get("api_keys")]
    if holding and _is_open(data.get("listen")) and not data.get("client_keys"):
        yield ("listen",), OPEN_TO_ALL.format(holding[0])


def _exposed_admin(data: Tree) -> Found:
    admin = _mapping(data.get("admin"))
    if _is_open(admin.get("listen")) and not admin.get("token"):
        yield ("admin", "listen"), "is open to other machines: set admin.token, or listen on 127.0.0.1"


def _namespace_without_keys(data: Tree) -> Found:
    namespace = _mapping(data.get("store")).get("namespace")
    if str(namespace).startswith("header:") and not data.get("client_keys"):
        yield ("store", "namespace"), "is a header that anybody can send: it needs client_keys"


def _authorities(upstream: Tree, path: Path) -> Found:
    """
    A file of certificates would otherwise be read with the first request, which then fails.
    """
    file, url = upstream.get("ca_file"), upstream.get("base_url")
    if not isinstance(file, str) or not isinstance(url, str) or not url.lower().startswith("https"):
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=file)
    except ssl.SSLError:
        yield path, "holds no certificates in PEM format"
    except OSError as why:
        yield path, f"cannot be read: {why.strerror}"


def _route(route: Tree, path: Path, upstreams: Tree) -> Found:
    name = route.get("upstream")
    if isinstance(name, str) and name not in upstreams:
        yield (*path, "upstream"), f"names no upstream; {did_you_mean(name, upstreams)}"
    summarizer = _mapping(_mapping(route.get("compaction")).get("summarizer"))
    place: Path = (*path, "compaction", "summarizer")
    yield from _summarizer_upstream(summarizer.get("upstream"), (*place, "upstream"), upstreams, own=name)
    if summarizer.get("in_place") is True and (summarizer.get("model") or summarizer.get("upstream")):
        yield (*place, "in_place"), "works with the request's own model only: leave out summarizer.model and .upstream"


def _summarizer_upstream(name: Any, path: Path, upstreams: Tree, *, own: Any) -> Found:
    if not isinstance(name, str):
        return
    if name not in upstreams:
        yield path, f"names no upstream; {did_you_mean(name, upstreams)}"
    elif name != own and not _mapping(upstreams[name]).get("api_keys"):
        # The client's credential belongs to the upstream that its request is routed to.
        yield path, f"is another upstream than the request's own, so {name} needs api_keys of its own"


def _is_open(address: Any) -> bool:
    try:
        return isinstance(address, str) and not is_loopback(address)
    except ValueError:
        return False


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
