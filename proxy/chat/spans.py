"""
Locate things in a body that is known to be JSON: the values at its top, and the rows of ``messages``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proxy.chat.json import dumps, loads
from proxy.chat.messages import Message

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SCALAR = re.compile(_STRING + rb"|[^\s,:{}\[\]]+", re.DOTALL)
# Possessive, so that nothing is tried twice; strings and scalars are passed over without a step of Python.
_TO_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:' + _STRING + rb'[^"{}\[\]]*+)*+[{}\[\]]', re.DOTALL)
_GAP = re.compile(rb"[\s,:]*")
_OPENING = frozenset(b"{[")
_OPENING_BRACKET, _CLOSING_BRACKET, _CLOSING_BRACE = b"[]}"

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Spans:
    """
    Where things stand in a body: top-level *values* by key, and the elements of ``messages``.
    """

    values: dict[str, Span]
    rows: list[Span]

    @property
    def before(self) -> dict[str, Span]:
        """
        The values that stand before the messages, which come in the order of the body.
        """
        start = self.values["messages"][0]
        return {key: span for key, span in self.values.items() if span[0] < start}


def scan(body: bytes, data: Message) -> Spans:
    """
    Locate the values and rows of *body*, whose content is *data*.

    Raises ``ValueError`` where a key occurs twice: servers differ in which one they take.
    """
    spans = Spans({}, [])
    _members(body, _skip_gap(body, body.index(b"{") + 1), data, spans)
    return spans


def scan_on(body: bytes, data: Message, known: Spans, *, rows: int) -> Spans:
    """
    Locate the values and rows of *body*, of which all up to the end of its first *rows* rows stands where *known* says.

    Raises ``ValueError`` as ``scan`` does.
    """
    spans = _more_rows(body, data, known, rows)
    _members(body, _skip_gap(body, spans.values["messages"][1]), data, spans)
    return spans


def moved(body: bytes, data: Message, known: Spans, *, rows: int) -> Spans:
    """
    Locate the same where all that stands behind the messages only moved.
    """
    spans = _more_rows(body, data, known, rows)
    known_end = known.values["messages"][1]
    way = spans.values["messages"][1] - known_end
    for key, (start, end) in known.values.items():
        if start >= known_end:
            spans.values[key] = (start + way, end + way)
    return spans


def _more_rows(body: bytes, data: Message, known: Spans, rows: int) -> Spans:
    spans = Spans(known.before, known.rows[:rows])
    spans.rows.extend(_elements(body, spans.rows[-1][1], data["messages"][rows:]))
    end = _skip_gap(body, spans.rows[-1][1]) + 1
    spans.values["messages"] = (known.values["messages"][0], end)
    return spans


def _members(body: bytes, position: int, data: Message, spans: Spans) -> None:
    """
    Add what stands from *position* on, where a key or the end of the body is.
    """
    while body[position] != _CLOSING_BRACE:
        key_end = _value_end(body, position)
        key = loads(body[position:key_end])
        start = _skip_gap(body, key_end)
        if key in spans.values:
            raise ValueError(f"{key} occurs twice")
        if key == "messages" and body[start] == _OPENING_BRACKET:
            spans.rows.extend(_elements(body, start + 1, data["messages"]))
            end = _skip_gap(body, spans.rows[-1][1] if spans.rows else start + 1) + 1
        else:
            end = _end_of(body, start, data.get(key))
        spans.values[key] = (start, end)
        position = _skip_gap(body, end)


def _elements(body: bytes, position: int, messages: Sequence[Message]) -> Iterator[Span]:
    """
    Yield where each element stands from *position* on, which is inside of an array.

    *messages* are the elements, parsed: most clients write JSON as we do, and a row that stands there in our own words
    ends where these end, which is found ten times as fast as by looking for the bracket that closes it.
    """
    expected = iter(messages)
    alike = True
    position = _skip_gap(body, position)
    while body[position] != _CLOSING_BRACKET:
        ours = dumps(next(expected, None)) if alike else b""
        alike = alike and body.startswith(ours, position)
        end = position + len(ours) if alike else _value_end(body, position)
        yield position, end
        position = _skip_gap(body, end)


def _end_of(body: bytes, position: int, value: object) -> int:
    """
    Return where *value* ends, which stands at *position*: schemas of tools have many brackets.
    """
    if body[position] in _OPENING and body.startswith(ours := dumps(value), position):
        return position + len(ours)
    return _value_end(body, position)


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
