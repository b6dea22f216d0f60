"""
Shorten a summary to a size: whole lines go, from the longest sections first, and the headings stay.
"""

from __future__ import annotations

from collections.abc import Callable

Count = Callable[[str], int]

_LEAST = 8
"""A line is not cut below this many characters."""


def shorten(text: str, *, tokens: int, count: Count) -> str:
    """
    Return *text* in at most *tokens*: every section keeps its heading and its first lines, as many as there is room for.
    """
    if count(text) <= tokens:
        return text
    sections = _sections(text)
    low, high = 0, max(len(lines) for _, lines in sections)
    while low < high:  # the largest number of lines a section that fits
        middle = (low + high + 1) // 2
        if count(_written(sections, middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    return _written(sections, low) if low else _cut_lines(sections, tokens, count)


def _sections(text: str) -> list[tuple[str, list[str]]]:
    sections: list[tuple[str, list[str]]] = [("", [])]
    for line in filter(str.strip, text.splitlines()):
        if _is_heading(line):
            sections.append((line, []))
        else:
            sections[-1][1].append(line)
    return [(heading, lines) for heading, lines in sections if lines] or [("", text.splitlines())]


def _is_heading(line: str) -> bool:
    bare = line.strip()
    return bare.startswith("#") or (bare.startswith("**") and bare.rstrip(":").endswith("**"))


def _written(sections: list[tuple[str, list[str]]], most: int) -> str:
    blocks = ["\n".join(filter(None, (heading, *lines[:most]))) for heading, lines in sections]
    return "\n\n".join(blocks)


def _cut_lines(sections: list[tuple[str, list[str]]], tokens: int, count: Count) -> str:
    """
    Keep the beginning of one line a section; where that is too much, fewer sections.
    """
    length = max(len(lines[0]) for _, lines in sections if lines)
    while length >= _LEAST:
        shown = _written([(heading, [_begin(lines[0], length)]) for heading, lines in sections], 1)
        if count(shown) <= tokens:
            return shown
        length = length * 3 // 4
    return _cut_lines(sections[: len(sections) // 2], tokens, count) if len(sections) > 1 else ""


def _begin(line: str, length: int) -> str:
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"
