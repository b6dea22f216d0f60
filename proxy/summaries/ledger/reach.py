"""
How much of a history is read at all: of one attached very late, the beginnings and ends of its longest rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxy.chat.messages import Message, text_of

MOST_CHARS = 5_000_000
"""More than a million tokens; to read them takes seconds."""
_HEAD_SHARE = 0.7


def within_reach(rows: Sequence[Message], most: int = MOST_CHARS) -> Sequence[Message]:
    """
    Return *rows* with texts of at most *most* characters in all: the longest ones are cut in their middle, all to one size.
    """
    sizes = [len(text_of(row)) for row in rows]
    if sum(sizes) <= most:
        return rows
    cap = _cap(sizes, most)
    return [_cut(row, cap) if size > cap else row for row, size in zip(rows, sizes, strict=True)]


def _cap(sizes: Sequence[int], most: int) -> int:
    """
    Return the size that all longer ones have to be cut to.
    """
    left, rows = most, len(sizes)
    for size in sorted(sizes):
        if size * rows > left:
            break
        left, rows = left - size, rows - 1
    return left // max(rows, 1)


def _cut(row: Message, cap: int) -> Message:
    """
    Return *row* as a row of text, cut between lines, so that no secret is cut in two and passes for something else.
    """
    text = text_of(row)
    head = int(cap * _HEAD_SHARE)
    tail = text.find("\n", len(text) - (cap - head)) + 1
    end = head if tail else cap
    if text[end : end + 1].strip():
        # Between lines, or at least between words.
        end = max(text.rfind("\n", end // 2, end), 0) or text.rfind(" ", 0, end)
    return {**row, "content": text[: max(end, 0)] + "\n[…]\n" + (text[tail:] if tail else "")}
