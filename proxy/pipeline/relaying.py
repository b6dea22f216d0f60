"""
A stream on its way to the client: read along byte for byte, and the exchange settled at its end.
"""

from __future__ import annotations

from typing import Protocol

import structlog
from typing_extensions import override

from proxy.errors import UpstreamError
from proxy.pipeline.decoding import decoder_of
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.heads import by_name
from proxy.pipeline.watching import Seen, StreamWatcher
from proxy.upstream.wire import Answer, ReadyChunks

log = structlog.get_logger()


class Settle(Protocol):
    """
    Closes the books of an exchange, once.
    """

    def __call__(self, exchange: Exchange, seen: Seen) -> None:
        """
        Take in what the answer said.
        """


class Relayed(ReadyChunks):
    """
    The chunks of *answer* as they come; a stream that is not read to its end was left by its client.
    """

    __slots__ = ("_answer", "_chunks", "_decoder", "_exchange", "_over", "_settle", "_watcher")

    def __init__(self, exchange: Exchange, answer: Answer, settle: Settle, *, watcher: StreamWatcher) -> None:
        self._exchange = exchange
        self._answer = answer
        self._chunks = answer.chunks
        self._settle = settle
        self._watcher = watcher
        self._decoder = decoder_of(by_name(answer.headers))
        self._over = False

    @override
    async def __anext__(self) -> bytes:
        if self._over:
            raise StopAsyncIteration
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            if rest := self._end():
                return rest
            raise
        except UpstreamError:
            self._exchange.ended = "upstream-failed"
            self.close()
            raise
        return self._watched(chunk)

    @override
    def ready(self) -> bytes:
        chunks = self._chunks
        if self._over:
            return b""
        taken = chunks.ready()
        taken = self._watched(taken) if taken else taken
        return taken + self._end() if chunks.ended else taken

    @property
    @override
    def ended(self) -> bool:
        return self._over

    def close(self) -> None:
        """
        Close the stream; a client that did not read it to its end has left, perhaps before the first chunk.
        """
        self._answer.close()
        exchange, seen = self._exchange, self._watcher.seen
        if not (exchange.settled or exchange.ended or seen.complete):
            exchange.ended = "client-left"
        self._settle(exchange, seen)

    def _end(self) -> bytes:
        """
        Settle what came to its end, and return what was held back of it.
        """
        self._over = True
        self._settle(self._exchange, self._watcher.seen)
        return self._watcher.rest()

    def _watched(self, chunk: bytes) -> bytes:
        """
        Read along, and return what of the chunk is relayed; a fault of ours costs the look alone.
        """
        watcher = self._watcher
        try:
            kept = watcher.feed(self._decoder.feed(chunk))
        except Exception as fault:
            log.exception("step.failed", step="watch", fault=type(fault).__name__)
            return chunk
        return kept if watcher.strip_usage else chunk
