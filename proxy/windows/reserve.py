"""
How much of a window is kept for the answer, and from which size on a history is compacted.
"""

from __future__ import annotations

_ASKED_SHARE = 0.25
_UNASKED = 4_096
_UNASKED_SHARE = 0.10
_USABLE_SHARE = 0.85


def reserve(window: int, asked_output: int | None = None) -> int:
    """
    Return the tokens kept for the answer: what was asked, up to a quarter of the window.
    """
    if asked_output is None:
        return min(_UNASKED, int(window * _UNASKED_SHARE))
    return min(max(asked_output, 0), int(window * _ASKED_SHARE))


def usable(window: int, asked_output: int | None = None) -> int:
    """
    Return the tokens a prompt may take.
    """
    return window - reserve(window, asked_output)


def threshold(window: int, usable: int, *, percent: float, minimum: int, absolute: int | None = None) -> int:
    """
    Return the size at which a history is compacted.

    A share of the window but at least *minimum*, never above 85 % of what is usable; *absolute* beats both, up to
    what is usable.
    """
    if absolute is not None:
        return min(absolute, usable)
    return min(max(int(window * percent), minimum), int(usable * _USABLE_SHARE))
