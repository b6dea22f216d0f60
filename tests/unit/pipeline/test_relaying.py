"""
A stream on its way to the client is settled once, however it ends.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from proxy.errors import UpstreamBrokenError
from proxy.pipeline.relaying import Relayed
from proxy.pipeline.watching import Seen, StreamWatcher
from proxy.upstream.wire import Answer, ReadyChunks

DELTA = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}\n\n'
DONE = b"data: [DONE]\n\n"


class Chunks(ReadyChunks):
    """
    Chunks of which the first are at hand; a fault among them breaks the stream.
    """

    def __init__(self, at_hand: Sequence[bytes], later: Sequence[bytes | Exception] = ()) -> None:
        self.at_hand = b"".join(at_hand)
        self.later = list(later)

    async def __anext__(self) -> bytes:
        if self.at_hand:
            return self.ready()
        if not self.later:
            raise StopAsyncIteration
        chunk = self.later.pop(0)
        if isinstance(chunk, Exception):
            raise chunk
        return chunk

    def ready(self) -> bytes:
        taken, self.at_hand = self.at_hand, b""
        return taken

    @property
    def ended(self) -> bool:
        return not self.at_hand and not self.later


class Relay:
    """
    A relayed stream, and what was told of it.
    """

    def __init__(self, chunks: ReadyChunks, *, strip_usage: bool = False, headers: Any = ()) -> None:
        self.closed = 0
        self.told: list[Seen] = []
        self.exchange: Any = SimpleNamespace(ended="", settled=False)
        answer = Answer(200, "OK", headers, chunks, close=self._close)
        self.relayed = Relayed(self.exchange, answer, self._settle, watcher=StreamWatcher(strip_usage=strip_usage))

    def _close(self) -> None:
        self.closed += 1

    def _settle(self, exchange: Any, seen: Seen) -> None:
        if not exchange.settled:
            exchange.settled = True
            self.told.append(seen)


async def test_what_is_at_hand_leaves_at_once_and_is_settled_where_it_is_all() -> None:
    """
    Also without ``[DONE]``: an answer that came to its end was left by nobody.
    """
    relay = Relay(Chunks([DELTA, USAGE]))

    assert (relay.relayed.ready(), relay.relayed.ended) == (DELTA + USAGE, True)
    assert [one async for one in relay.relayed] == []
    relay.relayed.close()
    assert (relay.exchange.ended, len(relay.told), relay.closed) == ("", 1, 1)
    assert relay.told[0].usage is not None


async def test_the_rest_comes_as_it_comes() -> None:
    """
    Chunk by chunk, and settled at the end of the last one.
    """
    relay = Relay(Chunks([DELTA], [DELTA, DONE]))

    assert (relay.relayed.ready(), relay.relayed.ended, relay.told) == (DELTA, False, [])
    assert [one async for one in relay.relayed] == [DELTA, DONE]
    assert (relay.relayed.ended, relay.told[0].complete) == (True, True)


async def test_a_frame_we_asked_for_is_taken_out_and_nothing_is_kept_back() -> None:
    """
    An event that never ended is the client's all the same, at once or later.
    """
    pieces = [DELTA, USAGE, b"data: unfinished"]
    at_once, later = Relay(Chunks(pieces), strip_usage=True), Relay(Chunks([], pieces), strip_usage=True)

    assert at_once.relayed.ready() == DELTA + b"data: unfinished"
    assert b"".join([one async for one in later.relayed]) == DELTA + b"data: unfinished"


async def test_a_client_that_leaves_is_told_as_such() -> None:
    """
    Whether it read something or not.
    """
    for read in (False, True):
        relay = Relay(Chunks([], [DELTA, DELTA, DONE]))
        if read:
            await anext(relay.relayed)
        relay.relayed.close()
        assert (relay.exchange.ended, len(relay.told), relay.closed) == ("client-left", 1, 1)


async def test_a_stream_that_breaks_is_told_as_such() -> None:
    """
    The client gets what came before, and then the fault.
    """
    relay = Relay(Chunks([DELTA], [DELTA, UpstreamBrokenError("up", "reset")]))
    first = relay.relayed.ready() + await anext(relay.relayed)
    with pytest.raises(UpstreamBrokenError):
        await anext(relay.relayed)

    assert (first, relay.exchange.ended, len(relay.told), relay.closed) == (DELTA * 2, "upstream-failed", 1, 1)


async def test_a_fault_of_ours_costs_the_look_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Every byte is relayed, and the end is noticed.
    """
    monkeypatch.setattr("proxy.pipeline.relaying.StreamWatcher.feed", lambda *_: 1 / 0)
    relay = Relay(Chunks([DELTA], [DONE]))

    assert relay.relayed.ready() + b"".join([one async for one in relay.relayed]) == DELTA + DONE
    assert (relay.exchange.ended, len(relay.told)) == ("", 1)
