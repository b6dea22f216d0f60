"""
The request view: a chat-completions body, parsed once, written back by splicing.

Rows that stay are emitted as the client's own bytes; only the ``messages`` array and the few named fields that had
to change differ from what the client sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from proxy.chat.json import deeper_than, dumps, loads, loads_plain
from proxy.chat.messages import Message
from proxy.chat.row_notes import RowNotes
from proxy.chat.spans import Span, Spans, scan

LONGEST_MODEL = 1_000
"""Characters of a model's name; a longer one is none, and would be remembered in many places."""


@dataclass(frozen=True, slots=True)
class Inherited:
    """
    What the view of an earlier turn hands on, so that only *new_bytes* had to be looked at; *beside* are the bytes of
    memory that all but the messages takes.
    """

    notes: RowNotes
    spans: Spans
    new_bytes: int
    beside: int


@dataclass(frozen=True)
class ChatRequest:
    """
    One chat-completions request: the raw *body*, its parsed *data*, and the rows in it.

    *plain* says that the fast parser read it, which the slow one, for odd JSON, does not agree with in every value.

    *messages* are the client's rows, *model* is empty where none is named, *asked_output* are the output tokens asked
    for, ``None`` where the client leaves it to the server.
    """

    body: bytes
    data: Message
    plain: bool = False
    inherited: Inherited | None = field(default=None, repr=False, compare=False)
    messages: list[Message] = field(init=False, repr=False, compare=False)
    model: str = field(init=False, repr=False, compare=False)
    asked_output: int | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        known, model = vars(self), self.data.get("model")
        known["messages"] = self.data["messages"]
        known["model"] = model if isinstance(model, str) else ""
        known["asked_output"] = _asked_output(self.data)

    @classmethod
    def parse(cls, body: bytes, *, deepest: int | None = None) -> ChatRequest | None:
        """
        Return the view, or ``None`` where the body is nothing we understand (it is then forwarded as it is), or nested
        more than *deepest* levels.
        """
        try:
            data, plain = _parsed(body)
        except ValueError:
            return None
        # A short body has too few brackets; in a long one it takes less time to look at all values than at all bytes.
        looked_into = deepest is not None and len(body) > 2 * deepest
        if not is_understood(data) or (looked_into and deeper_than(data, deepest or 0)):
            return None
        return cls(body, data, plain)

    @cached_property
    def notes(self) -> RowNotes:
        """
        What was found out about the rows, on this turn and before.
        """
        return self.inherited.notes if self.inherited else RowNotes(self.messages)

    @cached_property
    def spans(self) -> Spans:
        """
        Where values and rows stand in the body. Raises ``ValueError`` where it has no single ``messages`` array.
        """
        if self.inherited:
            return self.inherited.spans
        spans = scan(self.body, self.data)
        if len(spans.rows) != len(self.messages):
            raise ValueError("the messages array cannot be located")
        return spans

    @property
    def is_located(self) -> bool:
        """
        Whether it is known already where things stand.
        """
        return self.inherited is not None or "spans" in vars(self)

    @property
    def new_bytes(self) -> int:
        """
        The bytes that no earlier turn held.
        """
        return self.inherited.new_bytes if self.inherited else len(self.body)

    def beside(self, rows: int) -> bytes:
        """
        Return the body without its first *rows* rows, which were there on an earlier turn.
        """
        if not rows:
            return self.body
        spans = self.spans.rows
        return self.body[: spans[0][0]] + self.body[spans[rows - 1][1] :]

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

    def splice(self, messages: Sequence[Message], changes: Mapping[str, Any] | None = None) -> bytes:
        """
        Return the body with *messages* in place of its own and the top-level *changes* applied.

        A row that is one of this request's own objects is written as the client's bytes. Raises ``ValueError`` where
        the body has no single ``messages`` array to replace.
        """
        edits = [(self.spans.values["messages"], self._rows(messages))]
        added = b""
        for key, value in (changes or {}).items():
            span = self.spans.values.get(key)
            if span is None:
                added += dumps(key) + b":" + dumps(value) + b","
            else:
                edits.append((span, dumps(value)))
        return self._apply(edits, added)

    def _rows(self, messages: Sequence[Message]) -> bytes:
        return b"[" + b",".join(self._pieces(messages)) + b"]"

    def _pieces(self, messages: Sequence[Message]) -> Iterator[bytes]:
        """
        Yield the bytes of *messages*; own rows that follow each other, as they stand, blanks between them included.
        """
        own, spans, rows = self.messages, self.spans.rows, len(self.messages)
        index_of = dict(zip(map(id, own), range(rows), strict=True))
        begin = end = 0
        for row in messages:
            if begin < end < rows and own[end] is row:
                end += 1
                continue
            if begin < end:
                yield self.body[spans[begin][0] : spans[end - 1][1]]
            begin = index_of.get(id(row), rows)
            end = begin + 1 if begin < rows else begin
            if begin == end:
                yield dumps(row)
        if begin < end:
            yield self.body[spans[begin][0] : spans[end - 1][1]]

    def _apply(self, edits: list[tuple[Span, bytes]], added: bytes) -> bytes:
        pieces: list[bytes] = []
        position = self.body.index(b"{") + 1
        pieces += [self.body[:position], added]
        for (start, end), replacement in sorted(edits):
            pieces += [self.body[position:start], replacement]
            position = end
        return b"".join([*pieces, self.body[position:]])


def is_understood(data: Any) -> bool:
    """
    Tell whether parsed JSON is a chat-completions request with rows.
    """
    if not isinstance(data, dict):
        return False
    messages, model = data.get("messages"), data.get("model")
    if not isinstance(messages, list) or not are_rows(messages) or not messages:
        return False
    return not (isinstance(model, str) and len(model) > LONGEST_MODEL)


def are_rows(messages: list[Any]) -> bool:
    """
    Tell whether parsed messages are all objects.
    """
    return set(map(type, messages)) <= {dict}


def _asked_output(data: Message) -> int | None:
    for key in ("max_completion_tokens", "max_tokens"):
        value = data.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _parsed(body: bytes) -> tuple[Any, bool]:
    """
    Return the content of *body*, and whether the fast parser read it. Raises ``ValueError`` where it is no JSON.
    """
    try:
        return loads_plain(body), True
    except ValueError:
        return loads(body), False  # what is really broken is rare, so that a second look costs nothing
