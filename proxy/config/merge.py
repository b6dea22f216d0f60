"""
Lay a route's own settings over the defaults of all routes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

ROUTE_SECTIONS = ("compaction", "recovery")
Tree = Mapping[str, Any]


def plain(value: object) -> Any:
    """
    Return a settings model as the mapping that was written, without its defaults; anything else as it is.
    """
    return value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value


def overlay(below: object, above: object) -> Any:
    """
    Return *above* laid over *below*, key by key in mappings; a list or scalar replaces what it covers.
    """
    below, above = plain(below), plain(above)
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    return {**below, **{key: overlay(below[key], value) if key in below else value for key, value in above.items()}}


def complete_routes(data: Tree) -> Any:
    """
    Return the routes with complete settings, and a last one for requests that match none.

    What is malformed stays as it is, for validation to explain.
    """
    routes = data.get("routes") or []
    if not isinstance(routes, list | tuple):
        return routes
    found = [_complete(plain(route), data) for route in routes]
    upstreams = data.get("upstreams")
    if isinstance(upstreams, Mapping) and upstreams and not any(_takes_everything(route) for route in found):
        found.append(_complete({"name": _free_name(found), "upstream": next(iter(upstreams))}, data))
    return found


def _complete(route: Any, data: Tree) -> Any:
    if not isinstance(route, Mapping):
        return route
    sections = {}
    for section in ROUTE_SECTIONS:
        # An empty section, all of its lines commented out, changes nothing.
        own = route.get(section)
        sections[section] = overlay(data.get(section) or {}, {} if own is None else own)
    return {**route, **sections}


def _takes_everything(route: Any) -> bool:
    if not isinstance(route, Mapping):
        return False
    match = plain(route.get("match"))
    return not match or (isinstance(match, Mapping) and not any(match.values()))


def _free_name(routes: list[Any]) -> str:
    names = {route.get("name") for route in routes if isinstance(route, Mapping)}
    return next(name for name in ("default", *(f"default-{n}" for n in range(2, len(routes) + 3))) if name not in names)
