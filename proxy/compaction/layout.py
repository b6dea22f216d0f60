"""
A layout says which rows stay, which are folded, and how the kept ones are written; *emit* turns it into rows.

Emission is a pure function of the client's rows and the layout, so the same layout gives the same bytes on every
later turn. Row numbers count from the first row after the leading system rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from proxy.chat.language import detect_language
from proxy.chat.messages import Message, cache_marks, is_user, parts_of
from proxy.chat.roles import is_visible
from proxy.compaction import handover
from proxy.compaction.edits import apply_edit, cut_text
from proxy.compaction.repair import filler
from proxy.records.record import Edit, Record


@dataclass(frozen=True, slots=True)
class Layout:
    """
    Rows ``[0, head_end)`` stay, ``[head_end, cut)`` are folded into *summary* (final text, handover included), rows
    from *cut* on stay but for *edits*. *covered* rows are fixed by it: the cut, and every edited or restated row.
    """

    head_end: int
    cut: int
    summary: str | None
    restated: int | None = None
    restated_head: int = 0
    restated_tail: int = 0
    edits: tuple[Edit, ...] = ()
    depth: int = 0

    @property
    def covered(self) -> int:
        """
        The number of leading rows that a request must share for this layout to apply.
        """
        marks = [self.cut, *(edit.row + 1 for edit in self.edits)]
        marks += [edit.head + 1 for edit in self.edits if edit.kind == "duplicate"]
        if self.restated is not None:
            marks.append(self.restated + 1)
        return max(marks)


def with_edits(layout: Layout, edits: Iterable[Edit]) -> Layout:
    """
    Return the layout with further *edits*, in the order of their rows; one that only repeats another is left out.

    The first edit of a kind stands, but for media and arguments, of which ever less may be kept.
    """
    known = {(edit.row, edit.kind): edit for edit in layout.edits}
    for edit in edits:
        older = known.get((edit.row, edit.kind))
        if older is None or (edit.kind in {"media", "arguments"} and (edit.head, edit.tail) < (older.head, older.tail)):
            known[edit.row, edit.kind] = edit
    return replace(layout, edits=tuple(sorted(known.values(), key=lambda edit: edit.row)))


def layout_of(record: Record) -> Layout:
    """
    Return the layout that a record froze.
    """
    return Layout(**{name: getattr(record, name) for name in Layout.__slots__})


def edited(layout: Layout, rows: Sequence[Message]) -> dict[int, Message]:
    """
    Return the kept rows that are written otherwise than the client wrote them, by their number.
    """
    changed: dict[int, Message] = {}
    for edit in layout.edits:
        if edit.row < layout.head_end or edit.row >= layout.cut:
            changed[edit.row] = apply_edit(rows, changed.get(edit.row, rows[edit.row]), edit)
    return changed


@dataclass(frozen=True, slots=True)
class Frozen:
    """
    What a layout makes of the rows that it covers, the same on every later turn: rows *changed*, the *text* of the
    summary row, and the cache *mark* that moved there.
    """

    changed: Mapping[int, Message]
    text: str
    mark: object


def frozen(layout: Layout, rows: Sequence[Message]) -> Frozen:
    """
    Return what *layout* makes of *rows*, of which it needs those that it covers.
    """
    if layout.summary is None:
        return Frozen(edited(layout, rows), "", None)
    mark = _folded_cache_mark(rows[layout.head_end : layout.cut])
    return Frozen(edited(layout, rows), summary_text(layout, rows), mark)


def emit(layout: Layout, rows: Sequence[Message], known: Frozen | None = None) -> list[Message]:
    """
    Return the rows as they are sent; an unchanged row is the client's own object.

    What is *known* of the rows that the layout covers is not made again.
    """
    known = known or frozen(layout, rows)
    changed = known.changed
    head = [changed.get(index, rows[index]) for index in range(layout.head_end)]
    tail = [changed.get(index, rows[index]) for index in range(layout.cut, len(rows))]
    if layout.summary is None:
        return head + tail
    if tail and is_user(tail[0]):
        return [*head, _merged(known.text, tail[0], known.mark), *tail[1:]]
    return [*head, _summary_row(known.text, known.mark), *_alternating(tail, rows[: layout.cut])]


def summary_text(layout: Layout, rows: Sequence[Message]) -> str:
    """
    Return the text of the summary row: the summary, its end marker, and the ask that is restated after it.
    """
    text = layout.summary or ""
    if layout.restated is None:
        return text
    ask = handover.ask_text(rows[layout.restated])
    if layout.restated_head or layout.restated_tail:
        ask = cut_text(ask, head=layout.restated_head, tail=layout.restated_tail)
    return text + "\n\n" + handover.restate(ask, detect_language([ask]))


def _alternating(tail: list[Message], before: Sequence[Message]) -> list[Message]:
    """
    Keep the summary, a user row, and the next user row apart where only tool rounds or system rows stand between.

    The client itself had an answer there, now folded. Where it had none, its own two user rows in a row stay so.
    """
    first = next((index for index, row in enumerate(tail) if is_visible(row)), None)
    if first is None or not is_user(tail[first]):
        return tail
    last = next((row for row in reversed(before) if is_visible(row)), None)
    if last is not None and is_user(last):
        return tail
    return [*tail[:first], filler(tail[first]), *tail[first:]]


def _summary_row(text: str, mark: object) -> Message:
    if mark is None:
        return {"role": "user", "content": text}
    return {"role": "user", "content": [{"type": "text", "text": text, "cache_control": mark}]}


def _merged(text: str, row: Message, mark: object) -> Message:
    """
    Put the summary in front of a user row; its own parts follow untouched.
    """
    content = row.get("content")
    if isinstance(content, str) and mark is None:
        return {**row, "content": f"{text}\n\n{content}"}
    first: Message = {"type": "text", "text": text}
    if mark is not None:
        first["cache_control"] = mark
    return {**row, "content": [first, *parts_of(content)]}


def _folded_cache_mark(folded: Sequence[Message]) -> object:
    """
    Return the newest ``cache_control`` mark of the folded rows; it moves to the summary row.
    """
    for row in reversed(folded):
        if marks := cache_marks(row):
            own = row.get("cache_control")
            return marks[-1] if own is None else own
    return None


def with_thinking(layout: Layout) -> Layout:
    """
    Return the layout without the edits that take reasoning out of kept rows.
    """
    return replace(layout, edits=tuple(edit for edit in layout.edits if edit.kind != "thinking"))
