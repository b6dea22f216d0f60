"""
The request view: a chat-completions body, parsed once, written back by splicing.

Rows that stay are emitted as the client's own bytes; only the ``messages`` array and the few named fields that had
to change differ from what the client sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from proxy.chat.json import dumps, loads
from proxy.chat.messages import Message

_JSON_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]', re.DOTALL)
_OPENING = frozenset(b"{[")
_CLOSING = frozenset(b"}]")
_MESSAGES_DEPTH = 2


@dataclass(frozen=True, slots=True)
class _Spans:
    """
    Where things stand in the body: top-level values by key, and the elements of ``messages``.
    """

    values: Mapping[str, tuple[int, int]]
    rows: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class ChatRequest:
    """
    One chat-completions request: the raw *body*, its parsed *data*, and the rows in it.
    """

    body: bytes
    data: Message

    @classmethod
    def parse(cls, body: bytes) -> ChatRequest | None:
        """
        Return the view, or ``None`` where the body is nothing we understand (it is then forwarded as it is).
        """
        try:
            data = loads(body)
        except ValueError:
            return None
        if not isinstance(data, dict):
            return None
        messages = data.get("messages")
        if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
            return None
        return cls(body, data)

    @property
    def messages(self) -> list[Message]:
        """
        The client's rows.
        """
        rows: list[Message] = self.data["messages"]
        return rows

    @property
    def model(self) -> str:
        """
        The model asked for, empty where none is named.
        """
        model = self.data.get("model")
        return model if isinstance(model, str) else ""

    @property
    def stream(self) -> bool:
        """
        Whether the client asked for a stream.
        """
        return self.data.get("stream") is True

    @property
    def tools(self) -> list[Any]:
        """
        The tool schemas, the legacy ``functions`` included.
        """
        found: list[Any] = []
        for key in ("tools", "functions"):
            value = self.data.get(key)
            found += value if isinstance(value, list) else []
        return found

    @property
    def asked_output(self) -> int | None:
        """
        The output tokens asked for, ``None`` where the client leaves it to the server.
        """
        for key in ("max_completion_tokens", "max_tokens"):
            value = self.data.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        return None

    def splice(self, messages: Sequence[Message], changes: Mapping[str, Any] | None = None) -> bytes:
        """
        Return the body with *messages* in place of its own and the top-level *changes* applied.

        A row that is one of this request's own objects is written as the client's bytes. Raises ``ValueError`` where
        the body has no single ``messages`` array to replace.
        """
        edits = [(self._spans.values["messages"], self._rows(messages))]
        added = b""
        for key, value in (changes or {}).items():
            span = self._spans.values.get(key)
            if span is None:
                added += dumps(key) + b":" + dumps(value) + b","
            else:
                edits.append((span, dumps(value)))
        return self._apply(edits, added)

    def _rows(self, messages: Sequence[Message]) -> bytes:
        own = {id(row): span for row, span in zip(self.messages, self._spans.rows, strict=True)}
        rows = []
        for row in messages:
            span = own.get(id(row))
            rows.append(dumps(row) if span is None else self.body[span[0] : span[1]])
        return b"[" + b",".join(rows) + b"]"

    def _apply(self, edits: list[tuple[tuple[int, int], bytes]], added: bytes) -> bytes:
        pieces: list[bytes] = []
        position = self.body.index(b"{") + 1
        pieces += [self.body[:position], added]
        for (start, end), replacement in sorted(edits):
            pieces += [self.body[position:start], replacement]
            position = end
        return b"".join([*pieces, self.body[position:]])

    @cached_property
    def _spans(self) -> _Spans:
        spans = _scan(self.body)
        if len(spans.rows) != len(self.messages):
            raise ValueError("the messages array cannot be located")
        return spans


def _scan(body: bytes) -> _Spans:
    """
    Locate the top-level values and the rows of ``messages`` without building anything.

    Raises ``ValueError`` where a key occurs twice: servers differ in which one they take.
    """
    values: dict[str, tuple[int, int]] = {}
    rows: list[tuple[int, int]] = []
    depth = 0
    key: str | None = None
    last_string, start, row_start = b"", 0, 0
    for match in _JSON_TOKEN.finditer(body):
        byte = body[match.start()]
        if byte == 0x22:  # a string: the name of a member, if a colon follows at depth 1
            if depth == 1:
                last_string = match.group()
            continue
        if byte in _OPENING:
            depth += 1
            if depth == _MESSAGES_DEPTH and key == "messages":
                row_start = match.end()
            continue
        if byte == 0x3A:
            if depth == 1:
                key, start = loads(last_string), match.end()
            continue
        if depth == _MESSAGES_DEPTH and key == "messages" and byte in b",]":
            rows.append(_trim(body, row_start, match.start()))
            row_start = match.end()
        if depth == 1 and key is not None:
            if key in values:
                raise ValueError(f"{key} occurs twice")
            values[key] = _trim(body, start, match.start())
            key = None
        if byte in _CLOSING:
            depth -= 1
    return _Spans(values, tuple(rows))


def _trim(body: bytes, start: int, end: int) -> tuple[int, int]:
    while start < end and body[start] in b" \t\r\n":
        start += 1
    while end > start and body[end - 1] in b" \t\r\n":
        end -= 1
    return start, end
