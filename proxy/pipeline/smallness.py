"""
Requests that are small beyond doubt: they are forwarded without being counted, the largest without being parsed.
"""

from __future__ import annotations

from proxy.chat.request import ChatRequest
from proxy.pipeline.body_limits import BodyLimits
from proxy.pipeline.directives import with_command
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.exempt import exemption
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.marks import Marks
from proxy.pipeline.output_limits import OutputLimits
from proxy.pipeline.scene import make_budget
from proxy.tokens.bound import light_bound, upper_bound, without_media

LARGE_BYTES = 1024 * 1024
"""Bodies above this are looked at without their images first."""


class Smallness:
    """
    Tells by bytes alone that nothing has to be done.
    """

    def __init__(self, knowledge: Knowledge, outputs: OutputLimits, marks: Marks) -> None:
        self._knowledge = knowledge
        self.bodies = BodyLimits(knowledge)
        self._outputs = outputs
        self._marks = marks

    async def light(self, exchange: Exchange) -> bool:
        """
        Tell whether a large body is a small request with images in it; those are neither parsed nor counted then.
        """
        rest = without_media(exchange.incoming.body)
        if exchange.request is not None or rest is None or len(rest) > LARGE_BYTES:
            return False
        request = await exchange.viewer.view(rest)
        if request is None or exemption(request) is not None or self.over_bytes(exchange, exchange.incoming.body):
            return False
        exchange.directives = with_command(exchange.directives, request, exchange.compaction.focus_command)
        if not await self._below(exchange, request, light_bound(rest)):
            return False
        exchange.glance = request
        return True

    async def certainly(self, exchange: Exchange, request: ChatRequest) -> bool:
        """
        Tell whether the bytes alone prove that nothing has to be done; most requests end here, and are never counted.
        """
        # The look for images comes last: it reads the whole body.
        small = not self.over_bytes(exchange, request.body) and await self._below(exchange, request, len(request.body))
        return small and upper_bound(request.body) is not None

    async def _below(self, exchange: Exchange, request: ChatRequest, size: int) -> bool:
        """
        Tell whether *size* tokens are too few for anything to be done.
        """
        if exchange.directives.force or exchange.mode == "observe" or self._marks:
            return False
        if exchange.compaction.ask_usage == "always" and request.stream:
            return False
        window = await self._knowledge.window(exchange, request.model)
        scale = self._knowledge.scale(exchange, request.model, None, 0, size)
        budget = make_budget(
            exchange.compaction, window=window.tokens, asked_output=request.asked_output, fixed=0, scale=scale
        )
        if self._outputs.may_be_too_much(exchange, request, prompt=round(size * scale)):
            return False
        return size < self._knowledge.worth_a_look(exchange, request.model, budget.threshold)

    def over_bytes(self, exchange: Exchange, body: bytes) -> bool:
        """
        Tell whether *body* is larger than its way to the upstream is known to allow.
        """
        most = self.bodies.limit(exchange)
        return most is not None and len(body) > most
