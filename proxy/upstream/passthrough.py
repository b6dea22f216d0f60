"""
Everything that is no chat completion: forwarded as it comes, upload and answer streamed.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable

from proxy.upstream.client import UpstreamClient
from proxy.upstream.target import UpstreamTarget
from proxy.upstream.wire import Answer, Incoming

Choose = Callable[[Incoming], UpstreamTarget]


class PassthroughHandler:
    """
    Forwards requests to the upstream that *choose* picks.
    """

    def __init__(self, client: UpstreamClient, choose: Choose) -> None:
        self._client = client
        self._choose = choose

    async def chat(self, incoming: Incoming) -> Answer:
        """
        Forward a chat completion untouched, its body in memory.
        """
        return await self._client.send(self._target(incoming).outgoing(incoming))

    async def forward(self, incoming: Incoming, upload: AsyncIterable[bytes] | None) -> Answer:
        """
        Forward anything; *upload* is the client's body as it arrives.
        """
        return await self._client.send(self._target(incoming).outgoing(incoming, upload))

    def _target(self, incoming: Incoming) -> UpstreamTarget:
        return self._choose(incoming)
