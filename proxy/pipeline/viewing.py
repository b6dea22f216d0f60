"""
The one parse of a request's body.
"""

from __future__ import annotations

import asyncio

from proxy.chat.recent import SMALLEST, Common, Recent, closest, grown, weight
from proxy.chat.request import ChatRequest
from proxy.pipeline.turns import Turns

OFF_LOOP_BYTES = 100_000
"""Bodies with more than this that is new are parsed and counted in a thread."""


class Viewer:
    """
    Looks into bodies that are nested at most *deepest* levels, and remembers at most *recent_bytes* of the latest, so
    that a turn of a conversation costs what is new in it.
    """

    def __init__(self, deepest: int | None = None, *, recent_bytes: int = 0) -> None:
        self._deepest = deepest
        self._recent = Recent(recent_bytes)
        self._turns = Turns()

    def forgetful(self) -> Viewer:
        """
        Return one that looks as deep and remembers nothing.
        """
        return Viewer(self._deepest)

    async def view(self, body: bytes, *, whose: str = "") -> ChatRequest | None:
        """
        Return the view of a chat request, ``None`` where the body is nothing we understand, or nested too deeply.

        What is remembered for one sender (*whose*) is never looked at for another; nothing is for nobody.
        """
        if len(body) < SMALLEST:  # most are, and nothing is remembered of them
            return ChatRequest.parse(body, deepest=self._deepest)
        found = await self.continued(body, whose=whose)
        if found is None:
            found = await self._whole(body, remembered=bool(whose))
            if found is not None and whose:
                self._recent.keep(found, whose)
        return found

    async def continued(self, body: bytes, *, whose: str) -> ChatRequest | None:
        """
        Return the view of a body that goes on from one remembered, ``None`` where it has to be parsed whole.
        """
        alike = self._recent.alike(body, whose) if whose else []
        if not alike:
            return None
        if sum(len(view.body) for view in alike if not view.is_located) <= OFF_LOOP_BYTES:
            common = closest(body, alike)
        else:
            common = await asyncio.to_thread(closest, body, alike)
        if common is None:
            return None
        if len(body) - common.end > OFF_LOOP_BYTES:
            found = await self._turns.run(len(body) - common.end, self._grown, body, common)
        else:
            found = self._grown(body, common)
        if found is not None:
            self._recent.keep(found, whose)
        return found

    def _grown(self, body: bytes, common: Common) -> ChatRequest | None:
        return self._weighed(grown(body, common, deepest=self._deepest))

    def _weighed(self, found: ChatRequest | None) -> ChatRequest | None:
        """
        Note what is going to be remembered here, which may be beside the loop.
        """
        if found is not None and self._recent.takes(found):
            weight(found)
        return found

    async def _whole(self, body: bytes, *, remembered: bool) -> ChatRequest | None:
        if len(body) > OFF_LOOP_BYTES:
            return await self._turns.run(len(body), self._parse, body, remembered=remembered)
        return self._parse(body, remembered=remembered)

    def _parse(self, body: bytes, *, remembered: bool) -> ChatRequest | None:
        found = ChatRequest.parse(body, deepest=self._deepest)
        return self._weighed(found) if remembered else found
