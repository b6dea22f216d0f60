"""
What the edge asks of the pipeline, gathered.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Coroutine
from typing import Any

from proxy.pipeline.chat_completions import ChatCompletions
from proxy.pipeline.passing import Passing
from proxy.upstream.wire import Answer, Incoming


class Handlers:
    """
    What the edge asks: chat completions go through the pipeline, all else is forwarded as it comes.
    """

    def __init__(self, chat: ChatCompletions, passing: Passing) -> None:
        self._chat = chat
        self._passing = passing

    def chat(self, incoming: Incoming) -> Coroutine[Any, Any, Answer]:
        """
        Answer a chat completion.
        """
        return self._chat.chat(incoming)

    async def forward(self, incoming: Incoming, upload: AsyncIterable[bytes] | None) -> Answer:
        """
        Forward anything else.
        """
        return await self._passing.forward(incoming, upload)
