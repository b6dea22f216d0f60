"""
The dashboard's page and what it loads, read from the package once.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from aiohttp import web

from proxy.admin.answers import refusal

PAGE = "index.html"
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


async def page(_: web.Request) -> web.Response:
    """
    Answer the page; it holds no data.
    """
    return _file(PAGE)


async def asset(request: web.Request) -> web.Response:
    """
    Answer a script, a style sheet or the icon.
    """
    name = request.match_info["name"]
    return _file(name) if name in _assets() else refusal(404, "No such file.", "not_found")


def _file(name: str) -> web.Response:
    return web.Response(body=_assets()[name], content_type=TYPES[name.rpartition(".")[2]], charset="utf-8")


@cache
def _assets() -> dict[str, bytes]:
    folder = files("proxy.admin") / "assets"
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.name.rpartition(".")[2] in TYPES}
