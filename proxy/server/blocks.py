"""
Where blocks of lines end in a stream of bytes that comes in pieces: at blank lines.
"""

from __future__ import annotations

_BLANK = b"\r\n\r\n"


class Blocks:
    """
    Finds the ends of blocks, also where a blank line is split between pieces.
    """

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail = b""

    def end(self, data: bytes, start: int = 0) -> int:
        """
        Return where in *data*, read from *start* on, the next blank line ends; the end of *data* where there is none.
        """
        tail, self._tail = self._tail, b""
        if tail:
            at = (tail + data[start : start + 3]).find(_BLANK)
            if at >= 0:
                return start + at + 4 - len(tail)
        at = data.find(_BLANK, start)
        if at >= 0:
            return at + 4
        self._tail = (tail + data[max(start, len(data) - 3) :])[-3:]
        return len(data)
