"""
How much of a history is read at all: of one attached very late, the beginnings and ends of its longest rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from proxy.chat.messages import Message, text_of

MOST_CHARS = 5_000_000
"""More than a million tokens; to read them takes seconds."""
_HEAD_SHARE = 0.7
_NEAR = 4_096
_BETWEEN = re.compile(r"[^\w.+/=~-]", re.ASCII)  # what no key has in it


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
    Return *row* as a row of text, cut between lines where it has any; half a secret would pass for something else.
    """
    text = text_of(row)
    head = int(cap * _HEAD_SHARE)
    tail = text.find("\n", len(text) - (cap - head)) + 1
    end = _end(text, head if tail else cap)
    return {**row, "content": text[:end] + "\n[…]\n" + (text[tail:] if tail else "")}


def _end(text: str, most: int) -> int:
    """
    Return where the beginning of *text* ends, after at most so many characters.
    """
    if not text[most : most + 1].strip():
        return most
    near = max(most - _NEAR, 0)
    end = text.rfind("\n", most // 2, most)
    if end < 0:
        end = text.rfind(" ", near, most)
    if end < 0:  # one long line without blanks, as JSON and Chinese are
        end = max((match.end() for match in _BETWEEN.finditer(text, near, most)), default=text.rfind(" ", 0, near))
    return max(end, 0)
