"""
Bodies seen lately, so that the next turn of a conversation is parsed from where it differs from the turn before.

A chat client sends its whole history every turn. Up to the end of the last common row both bodies are the same bytes,
and a JSON parser that reads the same bytes is in the same state: what comes after, in place of all that was common, is
the rest of an array of an object, and is read as such.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from sys import getsizeof
from typing import Any

from proxy.chat.json import deeper_than, loads_plain
from proxy.chat.messages import Message
from proxy.chat.request import ChatRequest, Inherited, is_understood
from proxy.chat.spans import Spans, moved, scan_on

SMALLEST = 16 * 1024
"""Bytes from which a body is worth remembering; a smaller one is parsed faster than it is looked up."""
ROW_BYTES = 800
"""What is kept of a row beside its JSON: its place, its digests, its count."""
_OPENING = b'{"messages":[0'  # stands in for everything up to the end of the last common row
_WORTH_A_LOOK = 256  # bytes in which two turns of one conversation begin alike
_CHUNK = 128 * 1024
_END = 64  # bytes of a row in which most rows that differ do
_Start = tuple[str, bytes]
"""Whose a body is, and how it begins."""


class Recent:
    """
    Views of the latest bodies, at most *max_bytes* of them with all that hangs on them; not safe between threads.

    Bodies of one sender (*whose*) never serve another one.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._views: OrderedDict[int, tuple[_Start, ChatRequest, int]] = OrderedDict()
        self._alike: dict[_Start, dict[int, ChatRequest]] = {}
        self._numbers = count()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._views)

    def alike(self, body: bytes, whose: str) -> list[ChatRequest]:
        """
        Return the views of bodies of the same sender that begin as *body* does, the latest first.
        """
        if len(body) < SMALLEST:
            return []
        return list(reversed(self._alike.get(_start(body, whose), {}).values()))

    def takes(self, view: ChatRequest) -> bool:
        """
        Tell whether a view is one to be remembered.
        """
        return view.plain and SMALLEST <= len(view.body) <= self._max_bytes

    def keep(self, view: ChatRequest, whose: str) -> None:
        """
        Remember *view*, and forget the oldest ones where that is too much, and any that this one goes on from.
        """
        if not self.takes(view):
            return
        size = weight(view)
        if size > self._max_bytes:
            return
        start, number = _start(view.body, whose), next(self._numbers)
        for known, older in list(self._alike.get(start, {}).items()):
            if _goes_on_from(view.messages, older.messages):
                self._drop(known)
        self._views[number] = (start, view, size)
        self._alike.setdefault(start, {})[number] = view
        self.bytes += size
        while self.bytes > self._max_bytes:
            self._drop(next(iter(self._views)))

    def _drop(self, number: int) -> None:
        start, _, size = self._views.pop(number)
        self.bytes -= size
        alike = self._alike[start]
        del alike[number]
        if not alike:
            del self._alike[start]


def _start(body: bytes, whose: str) -> _Start:
    return whose, body[:_WORTH_A_LOOK]


def continued(body: bytes, known: Iterable[ChatRequest], *, deepest: int | None = None) -> ChatRequest | None:
    """
    Return the view of *body* made from that view of *known* with which it shares most rows, exactly as if it had been
    parsed whole; ``None`` where it shares no row with any, or has to be parsed whole to be sure.
    """
    common = closest(body, known)
    return None if common is None else grown(body, common, deepest=deepest)


@dataclass(frozen=True, slots=True)
class Common:
    """
    What a body has in common with one seen before: its first *rows*, up to the byte *end*.
    """

    view: ChatRequest
    rows: int

    @property
    def end(self) -> int:
        """
        Where the last common row ends.
        """
        return self.view.spans.rows[self.rows - 1][1]


def closest(body: bytes, known: Iterable[ChatRequest]) -> Common | None:
    """
    Return that view of *known* with which *body* shares most rows, ``None`` where it shares none.
    """
    best, shared = None, 0
    for view in sorted(known, key=lambda each: len(each.messages), reverse=True):
        if len(view.messages) > shared and (rows := _shared_rows(body, view, shared)) > shared:
            best, shared = view, rows
    return None if best is None else Common(best, shared)


def _shared_rows(body: bytes, view: ChatRequest, most: int) -> int:
    """
    Return how many rows *body* and *view* have in common, 0 where they are clearly no more than *most*.
    """
    try:
        ends = view.spans.rows
    except ValueError:
        return 0
    end = ends[most][1]
    if not body.startswith(view.body[max(end - _END, 0) : end], max(end - _END, 0)):
        return 0  # many conversations begin with the same long instructions
    return bisect_right(ends, _shared_bytes(body, view.body, ends[-1][1]), key=lambda span: span[1])


def _shared_bytes(one: bytes, other: bytes, most: int) -> int:
    """
    Return how many bytes two bodies have in common at the front, at most *most*.
    """
    most = min(most, len(one))
    position, step = 0, _CHUNK
    # In pieces, which are compared at the speed of memory; a whole body would have to be copied for it.
    while position < most and step:
        end = min(position + step, most)
        if one.startswith(other[position:end], position):
            position = end
        else:
            step //= 2
    return position


@dataclass(frozen=True, slots=True)
class _Rest:
    """
    What was read behind the common rows: the new *rows*, all fields of the request and their weight, where things stand.
    """

    rows: list[Any]
    fields: Message
    beside: int
    spans: Callable[[Message], Spans]


def grown(body: bytes, common: Common, *, deepest: int | None = None) -> ChatRequest | None:
    """
    Return the view of *body*, of which only what is not *common* is read; ``None`` where it has to be parsed whole.
    """
    view, shared, begin = common.view, common.rows, common.end
    try:
        rest = _same_fields(body, view, shared) or _other_fields(body, view, shared)
        # Fields and rows that were there before need not be looked at again.
        looked_at = {**({} if rest.fields is view.data else rest.fields), "messages": rest.rows}
        data = {**rest.fields, "messages": [*view.messages[:shared], *rest.rows]}
        if not is_understood({**rest.fields, "messages": rest.rows or view.messages[:1]}) or (
            deepest is not None and deeper_than(looked_at, deepest)
        ):
            return None
        spans = rest.spans(data)
    except ValueError:
        return None
    if len(spans.rows) != len(data["messages"]):
        return None
    notes = view.notes.handed_on(data["messages"], shared=shared)
    return ChatRequest(body, data, plain=True, inherited=Inherited(notes, spans, len(body) - begin, rest.beside))


def _same_fields(body: bytes, view: ChatRequest, shared: int) -> _Rest | None:
    """
    Read new rows where all behind the messages is the same as before; ``None`` where it is not.
    """
    begin = view.spans.rows[shared - 1][1]
    after = view.body[view.spans.values["messages"][1] - 1 :]
    if len(body) < begin + len(after) or not body.endswith(after):
        return None
    try:
        rows = loads_plain(b"[0" + body[begin : len(body) - len(after)] + b"]")[1:]
    except ValueError:
        return None  # what ends alike began before: the last field is a text that quotes a request, for one
    return _Rest(rows, view.data, _beside(view), lambda data: moved(body, data, view.spans, rows=shared))


def _other_fields(body: bytes, view: ChatRequest, shared: int) -> _Rest:
    """
    Read new rows and what stands behind the messages. Raises ``ValueError`` where it has to be read as a whole.
    """
    rest = loads_plain(_OPENING + body[view.spans.rows[shared - 1][1] :])
    rows = rest.pop("messages")
    if not isinstance(rows, list):
        raise ValueError("messages occurs twice")
    before = {key: view.data[key] for key in view.spans.before}
    fields = {**before, **rest}
    # Raises where a key occurs twice, and so does everything that would make another array of the messages.
    return _Rest(rows[1:], fields, _weight_of(fields), lambda data: scan_on(body, data, view.spans, rows=shared))


def _goes_on_from(rows: list[Message], older: list[Message]) -> bool:
    """
    Tell whether *rows* begin with all *older* ones; rows handed on are the same objects.
    """
    last = len(older) - 1
    return last < len(rows) and rows[last] is older[last]


def weight(view: ChatRequest) -> int:
    """
    Return the bytes that a view holds: its body, all that was parsed, and what is noted on rows.
    """
    rows = view.notes.on("weight", lambda _, new: map(_size, new))
    return len(view.body) + sum(rows) + _beside(view) + ROW_BYTES * len(rows)


def _beside(view: ChatRequest) -> int:
    return view.inherited.beside if view.inherited else _weight_of(view.data)


def _weight_of(fields: Message) -> int:
    return sum(_size(value) for key, value in fields.items() if key != "messages")


def _size(value: Any) -> int:
    """
    Return the bytes of a JSON value with all that is in it.
    """
    size, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        size += getsizeof(item)
        if type(item) is dict:
            waiting += item.values()
        elif type(item) is list:
            waiting += item
    return size
