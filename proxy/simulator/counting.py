"""
How prompt tokens are counted: by whatever counter is passed in, else by a plain estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from proxy.chat.json import dumps
from proxy.chat.messages import Message

_BYTES_PER_TOKEN = 4
_ROW_OVERHEAD = 4
_PRIMING = 3
_IMAGE = 765
_FIXED_FIELDS = ("tools", "functions", "response_format")


class Counter(Protocol):
    """
    Counts texts, rows, and the part of a request that is no row.
    """

    def text(self, text: str) -> int:
        """
        Return the tokens of *text*.
        """

    def message(self, message: Message) -> int:
        """
        Return the tokens of one row, its overhead included.
        """

    def fixed(self, data: Message) -> int:
        """
        Return the tokens of a request's tools and other fixed parts.
        """


class PlainCounter:
    """
    Counts four bytes a token; images are flat.
    """

    def text(self, text: str) -> int:
        """
        Return the tokens of *text*.
        """
        return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)

    def message(self, message: Message) -> int:
        """
        Return the tokens of one row, its overhead included.
        """
        content = message.get("content")
        total = _ROW_OVERHEAD + self._content(content)
        for key in ("tool_calls", "function_call", "name", "refusal"):
            if message.get(key):
                total += self._json(message[key])
        return total

    def fixed(self, data: Message) -> int:
        """
        Return the tokens of a request's tools and other fixed parts.
        """
        return _PRIMING + sum(self._json(data[key]) for key in _FIXED_FIELDS if data.get(key))

    def _content(self, content: object) -> int:
        if content is None:
            return 0
        if isinstance(content, str):
            return self.text(content)
        if isinstance(content, list):
            return sum(self._part(part) for part in content)
        return self._json(content)

    def _part(self, part: object) -> int:
        if not isinstance(part, dict):
            return self._json(part)
        if isinstance(part.get("text"), str):
            return self.text(part["text"])
        return _IMAGE if "image_url" in part else self._json(part)

    def _json(self, value: object) -> int:
        return -(-len(dumps(value)) // _BYTES_PER_TOKEN)


def row_tokens(counter: Counter, rows: Sequence[Any]) -> list[int]:
    """
    Return the tokens of each row; what is no row counts as its JSON text.
    """
    return [
        counter.message(row) if isinstance(row, dict) else counter.text(dumps(row).decode("utf-8", "replace"))
        for row in rows
    ]
