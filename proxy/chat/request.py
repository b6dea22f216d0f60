"""
The request view: a chat-completions body, parsed once, written back by splicing.

Rows that stay are emitted as the client's own bytes; only the ``messages`` array and the few named fields that had
to change differ from what the client sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from proxy.chat.json import deeper_than, dumps, loads
from proxy.chat.messages import Message

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SCALAR = re.compile(_STRING + rb"|[^\s,:{}\[\]]+", re.DOTALL)
# Possessive, so that nothing is tried twice; strings and scalars are passed over without a step of Python.
_TO_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:' + _STRING + rb'[^"{}\[\]]*+)*+[{}\[\]]', re.DOTALL)
_GAP = re.compile(rb"[\s,:]*")
_OPENING = frozenset(b"{[")
_OPENING_BRACKET, _CLOSING_BRACKET, _CLOSING_BRACE = b"[]}"

LONGEST_MODEL = 1_000
"""Characters of a model's name; a longer one is none, and would be remembered in many places."""

_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Spans:
    """
    Where things stand in the body: top-level values by key, and the elements of ``messages``.
    """

    values: Mapping[str, _Span]
    rows: tuple[_Span, ...]


@dataclass(frozen=True)
class ChatRequest:
    """
    One chat-completions request: the raw *body*, its parsed *data*, and the rows in it.
    """

    body: bytes
    data: Message

    @classmethod
    def parse(cls, body: bytes, *, deepest: int | None = None) -> ChatRequest | None:
        """
        Return the view, or ``None`` where the body is nothing we understand (it is then forwarded as it is), or nested
        more than *deepest* levels.
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
        if isinstance(data.get("model"), str) and len(data["model"]) > LONGEST_MODEL:
            return None
        # A short body has too few brackets; in a long one it takes less time to look at all values than at all bytes.
        if deepest is not None and len(body) > 2 * deepest and deeper_than(data, deepest):
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

    def _apply(self, edits: list[tuple[_Span, bytes]], added: bytes) -> bytes:
        pieces: list[bytes] = []
        position = self.body.index(b"{") + 1
        pieces += [self.body[:position], added]
        for (start, end), replacement in sorted(edits):
            pieces += [self.body[position:start], replacement]
            position = end
        return b"".join([*pieces, self.body[position:]])

    @cached_property
    def _spans(self) -> _Spans:
        spans = _scan(self.body, self.messages)
        if len(spans.rows) != len(self.messages):
            raise ValueError("the messages array cannot be located")
        return spans


def _scan(body: bytes, messages: Sequence[Message]) -> _Spans:
    """
    Locate the top-level values and the rows of ``messages`` in a body that is known to be JSON.

    Raises ``ValueError`` where a key occurs twice: servers differ in which one they take.
    """
    values: dict[str, _Span] = {}
    rows: tuple[_Span, ...] = ()
    position = _skip_gap(body, body.index(b"{") + 1)
    while body[position] != _CLOSING_BRACE:
        key_end = _value_end(body, position)
        key = loads(body[position:key_end])
        start = _skip_gap(body, key_end)
        if key == "messages" and body[start] == _OPENING_BRACKET:
            rows = tuple(_elements(body, start, messages))
            end = _skip_gap(body, rows[-1][1] if rows else start + 1) + 1
        else:
            end = _value_end(body, start)
        if key in values:
            raise ValueError(f"{key} occurs twice")
        values[key] = (start, end)
        position = _skip_gap(body, end)
    return _Spans(values, rows)


def _elements(body: bytes, start: int, messages: Sequence[Message]) -> Iterator[_Span]:
    """
    Yield where each element of the array that opens at *start* stands.

    *messages* are the elements, parsed: most clients write JSON as we do, and a row that stands there in our own words
    ends where these end, which is found ten times as fast as by looking for the bracket that closes it.
    """
    expected = iter(messages)
    alike = True
    position = _skip_gap(body, start + 1)
    while body[position] != _CLOSING_BRACKET:
        ours = dumps(next(expected, None)) if alike else b""
        alike = alike and body.startswith(ours, position)
        end = position + len(ours) if alike else _value_end(body, position)
        yield position, end
        position = _skip_gap(body, end)


def _value_end(body: bytes, position: int) -> int:
    if body[position] not in _OPENING:
        return _match_end(_SCALAR, body, position)
    depth = 0
    while True:
        position = _match_end(_TO_BRACKET, body, position)
        depth += 1 if body[position - 1] in _OPENING else -1
        if not depth:
            return position


def _skip_gap(body: bytes, position: int) -> int:
    return _match_end(_GAP, body, position)


def _match_end(pattern: re.Pattern[bytes], body: bytes, position: int) -> int:
    found = pattern.match(body, position)
    assert found is not None, "the body is no JSON"
    return found.end()
