"""
The admin application: which path answers what.
"""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler

from proxy.admin.answers import refusal
from proxy.admin.api import Api
from proxy.admin.contract import AdminSource
from proxy.admin.dashboard import asset, page
from proxy.admin.events import Events
from proxy.admin.guard import HEADERS, Guard
from proxy.admin.settings import AdminSettings
from proxy.errors import BadRequestError, ProxyError

MOST_BODY = 64 * 1024 * 1024
"""Bytes of a request that is to be explained."""


def build(source: AdminSource, settings: AdminSettings) -> web.Application:
    """
    Return the application that shows *source*, one process or several.
    """
    guard = Guard(settings.listen or "127.0.0.1:0", settings.token)
    app = web.Application(middlewares=[_failures, guard.middleware], client_max_size=MOST_BODY)
    api, events = Api(source), Events(source)
    app.add_routes(
        [
            web.get("/", page),
            web.get("/assets/{name}", asset),
            web.get("/metrics", api.metrics),
            web.get("/api/stats", api.stats),
            web.get("/api/windows", api.windows),
            web.get("/api/sessions", api.sessions),
            web.get("/api/sessions/{id}", api.session),
            web.get("/api/sessions/{id}/view", api.view),
            web.delete("/api/sessions/{id}", api.drop),
            web.get("/api/exchanges", api.exchanges),
            web.get("/api/exchanges/{id}", api.exchange),
            web.get("/api/events", events.stream),
            web.post("/api/compact", api.compact),
            web.post("/api/explain", api.explain),
        ]
    )
    app.on_response_prepare.append(_harden)
    app.on_shutdown.append(events.close)
    return app


async def _harden(_request: web.Request, response: web.StreamResponse) -> None:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)


@web.middleware
async def _failures(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except BadRequestError as fault:
        return refusal(fault.status, fault.message, fault.code or "bad_request")
    except ProxyError as fault:
        return refusal(503, str(fault), "unavailable")
    except web.HTTPException as fault:
        return refusal(fault.status, fault.reason, "not_found" if fault.status == 404 else "http")
