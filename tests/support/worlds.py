"""
A small world: the simulator with a small window, and the real proxy in front of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from proxy.chat.json import dumps, loads
from proxy.simulator.received import Received
from proxy.simulator.server import Simulator
from tests.support.proxied import Proxied, Reply

WINDOW = 8_000
THRESHOLD = 6_000
SUMMARY = "SUMMARY-"

WorldFactory = Callable[..., Awaitable["World"]]


@dataclass(slots=True)
class World:
    """
    The *upstream* and the proxy before it; *calls* are the main calls of the last exchange.
    """

    upstream: Simulator
    proxied: Proxied
    calls: list[Received] = field(default_factory=list)

    async def post(self, data: Any, *, headers: Mapping[str, str] | None = None) -> Reply:
        """
        Post a body and remember which main calls it led to.
        """
        before = len(self.upstream.main_calls)
        reply = await self.proxied.post(data, headers=headers)
        await self.proxied.proxy.core.tasks.settled()
        self.calls = self.upstream.main_calls[before:]
        return reply

    async def chat(
        self, rows: Sequence[Any], *, headers: Mapping[str, str] | None = None, model: str = "sim-model", **fields: Any
    ) -> Reply:
        """
        Post a chat completion.
        """
        return await self.post({"model": model, "messages": list(rows), **fields}, headers=headers)

    @property
    def sent(self) -> Received:
        """
        What reached the upstream last.
        """
        return self.calls[-1]


def error_of(reply: Reply) -> dict[str, Any]:
    """
    Return the error of an OpenAI-shaped body.
    """
    error = loads(reply.body)["error"]
    assert isinstance(error, dict)
    return error


def is_whole(reply: Reply, *, stream: bool) -> bool:
    """
    Tell whether the client got a complete answer.
    """
    if reply.status != 200:
        return False
    if stream:
        return b'"delta"' in reply.body and reply.body.endswith(b"data: [DONE]\n\n") and b'"error"' not in reply.body
    return bool(loads(reply.body)["choices"][0]["message"])


def texts(received: Received) -> str:
    """
    Return the rows that reached the upstream, as one text.
    """
    return dumps(received.messages).decode()
