"""
Answers of the admin port.
"""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from proxy.chat.json import dumps

JSON = "application/json"


def answer(value: object, *, status: int = 200) -> web.Response:
    """
    Return *value* as JSON.
    """
    return web.Response(status=status, body=dumps(value), content_type=JSON)


def refusal(status: int, message: str, code: str, *, headers: Mapping[str, str] | None = None) -> web.Response:
    """
    Return an error by its *code*.
    """
    body = dumps({"error": {"message": message, "code": code}})
    return web.Response(status=status, body=body, content_type=JSON, headers=headers)
