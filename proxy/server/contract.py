"""
What the edge asks of the rooms behind it.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import dataclass
from typing import Protocol

from proxy.upstream.wire import Answer, Incoming


class Handler(Protocol):
    """
    Answers requests; is cancelled as soon as the client leaves.
    """

    async def chat(self, incoming: Incoming) -> Answer:
        """
        Answer a POST to ``…/chat/completions``, whose body is in memory.
        """

    async def forward(self, incoming: Incoming, upload: AsyncIterable[bytes] | None) -> Answer:
        """
        Answer anything else; *upload* is the body as it arrives, ``None`` where there is none.
        """


@dataclass(frozen=True, slots=True)
class Readiness:
    """
    Whether this process can take requests, and what is missing or degraded.
    """

    ready: bool = True
    notes: tuple[str, ...] = ()
