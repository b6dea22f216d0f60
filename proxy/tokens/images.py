"""
How many tokens an image takes, from its size in pixels and the family of the model.

The schemes are those that vendors and their counters published up to 2026; calibration leaves requests with images out.
"""

from __future__ import annotations

from math import ceil
from typing import Literal

from proxy.tokens.families import ImageScheme, ModelFamily

UNKNOWN_IMAGE = 1_500
Size = tuple[int, int]
Detail = Literal["low", "high"]

_TILE = 512
_FIT_BOX = 2_048
_FIT_SHORT = 768
_PATCH = 32
_LOW_BOX = 512
_GRID = 28
_CLAUDE_BOX = {1_568: 1_568, 4_784: 2_576}  # cap of tokens: longest edge in pixels
_GEMINI_SMALL = 384
_GEMINI_TILE = 768
_TYPICAL_TILES = 4


def image_tokens(family: ModelFamily, size: Size | None, detail: str = "auto") -> int:
    """
    Return the tokens of one image; *size* is ``None`` where it could not be read.
    """
    level: Detail = "low" if detail == "low" else "high"
    if family.scheme is ImageScheme.TILES:
        return _tiles(family, size, level)
    if family.scheme is ImageScheme.FLAT or size is None:
        return UNKNOWN_IMAGE
    if family.scheme is ImageScheme.PATCHES:
        return _patches(family, size, level)
    if family.scheme is ImageScheme.GEMINI:
        return _gemini(family, size)
    if family.scheme is ImageScheme.CLAUDE:
        size = _fit(size, _CLAUDE_BOX[family.cap])
    return min(_cells(size, _GRID), family.cap)


def _tiles(family: ModelFamily, size: Size | None, level: Detail) -> int:
    if level == "low":
        return family.base
    if size is None:
        return max(UNKNOWN_IMAGE, family.base + round(family.per_unit * _TYPICAL_TILES))
    width, height = _fit(size, _FIT_BOX)
    short = min(width, height)
    if short > _FIT_SHORT:
        width, height = max(1, width * _FIT_SHORT // short), max(1, height * _FIT_SHORT // short)
    return family.base + round(family.per_unit * _cells((width, height), _TILE))


def _patches(family: ModelFamily, size: Size, level: Detail) -> int:
    box = _LOW_BOX if level == "low" else _FIT_BOX
    return ceil(min(_cells(_fit(size, box), _PATCH), family.cap) * family.per_unit)


def _gemini(family: ModelFamily, size: Size) -> int:
    cells = 1 if max(size) <= _GEMINI_SMALL else _cells(size, _GEMINI_TILE)
    return round(family.per_unit * cells)


def _fit(size: Size, box: int) -> Size:
    longest = max(size)
    if longest <= box:
        return size
    return max(1, size[0] * box // longest), max(1, size[1] * box // longest)


def _cells(size: Size, edge: int) -> int:
    return ceil(size[0] / edge) * ceil(size[1] / edge)
