"""
A layout says which rows stay, which are folded, and how the kept ones are written; *emit* turns it into rows.

Emission is a pure function of the client's rows and the layout, so the same layout gives the same bytes on every
later turn. Row numbers count from the first row after the leading system rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proxy.chat.language import detect_language
from proxy.chat.messages import Message, is_user, parts, parts_of
from proxy.compaction import handover
from proxy.compaction.edits import apply_edit, cut_text
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
        if self.restated is not None:
            marks.append(self.restated + 1)
        return max(marks)


def layout_of(record: Record) -> Layout:
    """
    Return the layout that a record froze.
    """
    return Layout(**{name: getattr(record, name) for name in Layout.__slots__})


def emit(layout: Layout, rows: Sequence[Message]) -> list[Message]:
    """
    Return the rows as they are sent; an unchanged row is the client's own object.
    """
    edits: dict[int, list[Edit]] = {}
    for edit in layout.edits:
        edits.setdefault(edit.row, []).append(edit)
    head = [_edited(rows, index, edits) for index in range(layout.head_end)]
    tail = [_edited(rows, index, edits) for index in range(layout.cut, len(rows))]
    if layout.summary is None:
        return head + tail
    text = summary_text(layout, rows)
    mark = _folded_cache_mark(rows[layout.head_end : layout.cut])
    if tail and is_user(tail[0]):
        return [*head, _merged(text, tail[0], mark), *tail[1:]]
    return [*head, _summary_row(text, mark), *tail]


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


def _edited(rows: Sequence[Message], index: int, edits: dict[int, list[Edit]]) -> Message:
    row = rows[index]
    for edit in edits.get(index, ()):
        row = apply_edit(rows, row, edit)
    return row


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
        for holder in (row, *reversed(parts(row))):
            if holder.get("cache_control") is not None:
                return holder["cache_control"]
    return None
