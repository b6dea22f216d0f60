"""
The one parse of a request's body.
"""

from __future__ import annotations

import asyncio

from proxy.chat.recent import Recent, continued, weight
from proxy.chat.request import ChatRequest

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
        if all(view.is_located for view in alike):
            found = continued(body, alike, deepest=self._deepest)
        else:
            found = await asyncio.to_thread(continued, body, alike, deepest=self._deepest)
        if found is not None:
            self._recent.keep(found, whose)
        return found

    async def _whole(self, body: bytes, *, remembered: bool) -> ChatRequest | None:
        if len(body) > OFF_LOOP_BYTES:
            return await asyncio.to_thread(self._parse, body, remembered=remembered)
        return self._parse(body, remembered=remembered)

    def _parse(self, body: bytes, *, remembered: bool) -> ChatRequest | None:
        found = ChatRequest.parse(body, deepest=self._deepest)
        if found is not None and remembered and self._recent.takes(found):
            weight(found)  # noted here, beside the loop
        return found
