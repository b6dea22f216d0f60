"""
What is remembered of each request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from proxy.chat.messages import Message
from proxy.simulator.rules import Violation, introduced


@dataclass(slots=True)
class Received:
    """
    One request and what became of it; filled in while it is answered.
    """

    number: int
    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: bytes = field(repr=False)
    data: Any = field(default=None, repr=False)
    prompt_tokens: int = 0
    cached_tokens: int = 0
    cached_rows: int = 0
    status: int | None = None
    violations: tuple[Violation, ...] = ()
    is_summary_call: bool = False
    cancelled: bool = False
    finished: bool = False
    prefixes: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def fields(self) -> Message:
        """
        The parsed body where it is an object, else nothing.
        """
        return self.data if isinstance(self.data, dict) else {}

    @property
    def messages(self) -> list[Any]:
        """
        The rows of a chat request.
        """
        rows = self.fields.get("messages")
        return rows if isinstance(rows, list) else []

    @property
    def model(self) -> str:
        """
        The model asked for.
        """
        return str(self.fields.get("model") or "")

    @property
    def stream(self) -> bool:
        """
        Whether a stream was asked for.
        """
        return self.fields.get("stream") is True

    @property
    def is_chat(self) -> bool:
        """
        Whether this is a chat-completions call.
        """
        return self.method == "POST" and self.path.endswith("/chat/completions")

    def header(self, name: str) -> str | None:
        """
        Return the first header called *name*, or nothing.
        """
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def introduced(self, client_rows: list[Any]) -> dict[str, int]:
        """
        Return the kinds of violations that this request has more of than the client's own rows.
        """
        return introduced(client_rows, self.messages)
