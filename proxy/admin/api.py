"""
The admin API: one method a path.
"""

from __future__ import annotations

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from proxy.admin.answers import answer, refusal
from proxy.admin.contract import AdminSource
from proxy.chat.json import loads
from proxy.errors import BadRequestError

MOST = 1000
"""Most rows of one answer."""
USUAL = 100


class Api:
    """
    Answers from *source*, in JSON.
    """

    def __init__(self, source: AdminSource) -> None:
        self._source = source

    async def metrics(self, _: web.Request) -> web.Response:
        """
        Answer a scrape.
        """
        text = await self._source.metrics()
        return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def stats(self, _: web.Request) -> web.Response:
        """
        Tell the sums.
        """
        return answer(await self._source.stats())

    async def windows(self, _: web.Request) -> web.Response:
        """
        Tell the windows and ratios.
        """
        return answer({"windows": await self._source.windows()})

    async def sessions(self, request: web.Request) -> web.Response:
        """
        List sessions, newest first.
        """
        return answer({"sessions": await self._source.sessions(_limit(request))})

    async def session(self, request: web.Request) -> web.Response:
        """
        Show one session.
        """
        found = await self._source.session(request.match_info["id"])
        return answer(found) if found is not None else _unknown("session")

    async def drop(self, request: web.Request) -> web.Response:
        """
        Forget the record of a session.
        """
        gone = await self._source.drop(request.match_info["id"])
        return answer({"dropped": request.match_info["id"]}) if gone else _unknown("session")

    async def exchanges(self, request: web.Request) -> web.Response:
        """
        List exchanges, newest first.
        """
        return answer({"exchanges": await self._source.exchanges(_limit(request))})

    async def exchange(self, request: web.Request) -> web.Response:
        """
        Show one exchange.
        """
        found = await self._source.exchange(request.match_info["id"])
        return answer(found) if found is not None else _unknown("exchange")

    async def view(self, request: web.Request) -> web.Response:
        """
        Show what went in and what was sent.
        """
        found = await self._source.view(request.match_info["id"])
        return answer(found) if found is not None else _unknown("view")

    async def compact(self, request: web.Request) -> web.Response:
        """
        Mark a conversation for its next request: ``{"session": ID}`` or ``{"exchange": ID}``.
        """
        target = _target(await request.read())
        key = await self._source.mark(target)
        return answer({"marked": target, "key": key}, status=202) if key is not None else _unknown("conversation")

    async def explain(self, request: web.Request) -> web.Response:
        """
        Say what would be done to the request in the body.
        """
        return answer(await self._source.explain(await request.read()))


def _limit(request: web.Request) -> int:
    text = request.query.get("limit", str(USUAL))
    if not text.isdecimal():
        raise BadRequestError(400, "limit has to be a number.", "bad_limit")
    # Python converts no number of thousands of digits.
    return min(int(text.lstrip("0")[:10] or 0), MOST)


def _target(body: bytes) -> str:
    try:
        data = loads(body)
    except ValueError:
        data = None
    fields = data if isinstance(data, dict) else {}
    target = fields.get("session") or fields.get("exchange") or fields.get("key")
    if not isinstance(target, str):
        raise BadRequestError(400, 'Name a conversation: {"session": ID} or {"exchange": ID}.', "no_target")
    return target


def _unknown(what: str) -> web.Response:
    return refusal(404, f"No such {what}.", f"unknown_{what}")
