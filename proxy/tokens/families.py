"""
What a model's name says about its tokenizer and its way of counting images.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class ImageScheme(StrEnum):
    """
    How a family of models turns pixels into tokens.
    """

    TILES = "tiles"  # 512-pixel tiles after fitting
    PATCHES = "patches"  # 32-pixel patches
    CLAUDE = "claude"  # 28-pixel patches, capped
    GEMINI = "gemini"  # 768-pixel tiles
    QWEN = "qwen"  # 28-pixel grid
    FLAT = "flat"  # nothing known


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """
    A family of models: *prior* is its tokens over ours before anything was measured.
    """

    name: str
    prior: float
    scheme: ImageScheme = ImageScheme.FLAT
    base: int = 0
    per_unit: float = 0.0
    cap: int = 0


_TILES, _PATCHES, _CLAUDE = ImageScheme.TILES, ImageScheme.PATCHES, ImageScheme.CLAUDE
UNKNOWN = ModelFamily("unknown", 1.15)

_FAMILIES: tuple[tuple[str, ModelFamily], ...] = (
    # the first pattern found in the name decides
    (r"gpt-4o-mini", ModelFamily("gpt-4o-mini", 1.0, _TILES, 2833, 5667)),
    (r"gpt-(4\.1|5)-nano", ModelFamily("gpt-nano", 1.0, _PATCHES, 0, 2.46, 1536)),
    (r"gpt-(4\.1|5)-mini", ModelFamily("gpt-mini", 1.0, _PATCHES, 0, 1.62, 1536)),
    (r"o4-mini", ModelFamily("o4-mini", 1.0, _PATCHES, 0, 1.72, 1536)),
    (r"gpt-(5[.-][2-9]|[6-9])", ModelFamily("gpt-5.2", 1.0, _PATCHES, 0, 1.2, 2500)),
    (r"gpt-5", ModelFamily("gpt-5", 1.0, _TILES, 70, 140)),
    (r"(^|[/_])o[13](-|$)", ModelFamily("o1", 1.0, _TILES, 75, 150)),
    (r"gpt-|chatgpt|(^|[/_])o\d|codex|davinci", ModelFamily("gpt", 1.0, _TILES, 85, 170)),
    (
        r"claude.*(opus-4[.-][7-9]|(opus|sonnet|haiku|fable|mythos)-([5-9]|\d\d)(\D|$))|claude-[5-9]",
        ModelFamily("claude-4.7", 1.5, _CLAUDE, 0, 1.0, 4784),
    ),
    (r"claude", ModelFamily("claude", 1.2, _CLAUDE, 0, 1.0, 1568)),
    (r"gemini|gemma", ModelFamily("gemini", 1.2, ImageScheme.GEMINI, 0, 258)),
    (r"qwen|qwq|qvq", ModelFamily("qwen", 1.2, ImageScheme.QWEN, 0, 1.0, 16_384)),
    (r"mistral|mixtral|ministral|magistral|devstral|codestral|pixtral", ModelFamily("mistral", 1.2)),
    (r"deepseek", ModelFamily("deepseek", 1.1)),
    (r"llama", ModelFamily("llama", 1.0)),
)
_PATTERNS = tuple((re.compile(pattern), family) for pattern, family in _FAMILIES)


def family_of(model: str) -> ModelFamily:
    """
    Return the family that a model's name speaks of.
    """
    name = model.lower()
    for pattern, family in _PATTERNS:
        if pattern.search(name):
            return family
    return UNKNOWN
