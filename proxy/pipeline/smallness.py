"""
Requests that are small beyond doubt: they are forwarded without being counted, the largest without being parsed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from proxy.chat.request import ChatRequest
from proxy.pipeline.body_limits import BodyLimits
from proxy.pipeline.directives import with_command
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.exempt import exemption
from proxy.pipeline.knowledge import Basis, Knowledge
from proxy.pipeline.marks import Marks
from proxy.pipeline.output_limits import OutputLimits
from proxy.pipeline.scene import most_and_start
from proxy.tokens.bound import holds_only_text, light_bound, upper_bound, without_media
from proxy.tokens.counter import TokenCounter
from proxy.windows.resolve import Window

A_TOKEN = 2
"""
Bytes for which a token stands where both are added up.

Whether anything has to be done is a matter of the threshold, of which bytes are a bound; whether there may be a record to be
resumed, of half of it. A text has at least two bytes a token unless it is dense, so that one sum answers both.
"""
MOST_PROVEN = 4_096
LONGEST_NAME = 200
LARGE_BYTES = 1024 * 1024
"""Bodies above this are looked at without their images first."""
_Key = tuple[str, str, str, str, int | None]
"""Who asks whom for what: route, upstream, credential, model, asked output."""


@dataclass(frozen=True, slots=True)
class _Proven:
    """
    By a *basis*, requests of *most* tokens are small beyond doubt, and those of *least* are not.
    """

    basis: Basis = ()
    most: int = -1
    least: float = inf

    def tells(self, basis: Basis, size: int) -> bool | None:
        """
        Tell whether a request of this *size* is small, ``None`` where that has to be found out.
        """
        if size <= self.most and basis == self.basis:
            return True
        # Which size is too large to be proven small hardly moves with the calibration, and to count it is never wrong.
        return False if size >= self.least and basis[1:] == self.basis[1:] else None

    def after(self, basis: Basis, size: int, *, small: bool) -> _Proven:
        """
        Return what is known once *size* was found to be *small* or not.
        """
        most = self.most if basis == self.basis else -1
        least = self.least if basis[1:] == self.basis[1:] else inf
        return _Proven(basis, max(most, size), least) if small else _Proven(basis, most, min(least, size))


_NOTHING = _Proven()


class Smallness:
    """
    Tells by bytes alone that nothing has to be done.
    """

    def __init__(self, knowledge: Knowledge, outputs: OutputLimits, marks: Marks, counter: TokenCounter) -> None:
        self._knowledge = knowledge
        self._counter = counter
        self.bodies = BodyLimits(knowledge)
        self._outputs = outputs
        self._marks = marks
        self._proven: dict[_Key, _Proven] = {}

    async def light(self, exchange: Exchange) -> bool:
        """
        Tell whether a large body is a small request with images in it; those are neither parsed nor counted then.
        """
        if await exchange.continues():
            return False
        rest = without_media(exchange.incoming.body)
        if rest is None or len(rest) > LARGE_BYTES:
            return False
        request = await exchange.viewer.view(rest)
        if request is None or exemption(request) is not None or self.over_bytes(exchange, exchange.incoming.body):
            return False
        exchange.directives = with_command(exchange.directives, request, exchange.compaction.focus_command)
        # What a medium costs is a guess, so that a byte beside media counts for no less than a token.
        if not await self._below(exchange, request, A_TOKEN * light_bound(rest)):
            return False
        exchange.glance = request
        return True

    async def certainly(self, exchange: Exchange, request: ChatRequest) -> bool:
        """
        Tell whether the bytes alone prove that nothing has to be done; most requests end here, and are never counted.
        """
        if self.over_bytes(exchange, request.body):
            return False
        if await self._below(exchange, request, A_TOKEN * len(request.body)) and _is_text(request):
            return True
        return await self._with_counts(exchange, request)

    def counted(self, exchange: Exchange, request: ChatRequest, tokens: int, window: Window) -> bool:
        """
        Tell whether the count of a request proves that nothing has to be done; its conversation need not be recognised.
        """
        if self._has_to_be_seen(exchange, request) or self.over_bytes(exchange, request.body):
            return False
        return tokens < self._least(exchange, request, tokens, window) // A_TOKEN

    async def _with_counts(self, exchange: Exchange, request: ChatRequest) -> bool:
        """
        Tell the same by what was counted on an earlier turn and the bytes of the rest, of which two are a token at least.
        """
        if (await self._knowledge.window(exchange, request.model)).source == "default":
            # A window that nobody told may be far smaller: refusals are looked out for from half of the threshold on.
            return False
        rows, tokens = self._counter.counted(request.notes) if request.inherited else (0, 0)
        rest = request.beside(rows)
        if not await self._below(exchange, request, A_TOKEN * tokens + len(rest)):
            return False
        return _is_text(request, behind=rows) and not self._counter.is_dense(rest)

    def _has_to_be_seen(self, exchange: Exchange, request: ChatRequest) -> bool:
        """
        Tell whether a request has to be measured however small it is.
        """
        if exchange.directives.force or exchange.mode == "observe" or self._marks:
            return True
        return exchange.compaction.ask_usage == "always" and request.stream

    async def _below(self, exchange: Exchange, request: ChatRequest, size: int) -> bool:
        """
        Tell whether a *size* in bytes, in which a token that was counted stands for two, is too little for anything to
        be done.
        """
        if self._has_to_be_seen(exchange, request):
            return False
        basis = await self._knowledge.basis(exchange, request.model)
        key = _key(exchange, request)
        proven = self._proven.get(key, _NOTHING)
        if basis is not None and (known := proven.tells(basis, size)) is not None:
            return known
        window = await self._knowledge.window(exchange, request.model)
        small = size < self._least(exchange, request, size, window)
        if basis is not None and len(request.model) <= LONGEST_NAME:
            if len(self._proven) >= MOST_PROVEN:
                self._proven.clear()
            self._proven[key] = proven.after(basis, size, small=small)
        return small

    def _least(self, exchange: Exchange, request: ChatRequest, size: int, window: Window) -> int:
        """
        Return the tokens from which on a request of at most *size* tokens would be compacted, or ever was.
        """
        scale = self._knowledge.scale(exchange, request.model, None, 0, size)
        if self._outputs.may_be_too_much(exchange, request, prompt=round(size * scale)):
            return 0
        most, start = most_and_start(
            exchange.compaction, window=window.tokens, asked_output=request.asked_output, scale=scale
        )
        return self._knowledge.least_folded(exchange, request.model, min(start, most))

    def over_bytes(self, exchange: Exchange, body: bytes) -> bool:
        """
        Tell whether *body* is larger than its way to the upstream is known to allow.
        """
        most = self.bodies.limit(exchange)
        return most is not None and len(body) > most


def _is_text(request: ChatRequest, *, behind: int = 0) -> bool:
    """
    Tell whether all *behind* the first rows is text, of which bytes are a bound.
    """
    # The look that reads the whole body comes last, and only where rows are more than text.
    return holds_only_text(request.notes, behind=behind) or upper_bound(request.body) is not None


def _key(exchange: Exchange, request: ChatRequest) -> _Key:
    party = exchange.party
    return exchange.route.name, party.upstream, party.credential, request.model, request.asked_output
