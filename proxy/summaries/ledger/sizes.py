"""
Cheap size estimates: pieces counted by one regex, scaled by real counts of a sample.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from proxy.summaries.ledger.units import Source, Unit

_PIECE = re.compile(
    r"[A-Za-z]{1,8}|\d{1,3}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_A-Za-z]{1,3}|[^\w\s]{1,2}|_"
)
_SAMPLE_CHARS = 6_000
_SAMPLE_UNITS = 160
_RATIO_BOUNDS = (0.3, 3.0)


def pieces(text: str) -> int:
    """
    Return a rough count of the tokens in *text*.
    """
    return len(_PIECE.findall(text))


def scales(units: Sequence[Unit], count: Callable[[str], int]) -> dict[Source, float]:
    """
    Return, by source, how many real tokens one piece is, from one real count of a spread sample each.
    """
    by_source: dict[Source, list[Unit]] = {}
    for unit in units:
        by_source.setdefault(unit.source, []).append(unit)
    return {source: _scale(members, count) for source, members in by_source.items()}


def cut_to(text: str, limit: int, count: Callable[[str], int]) -> str:
    """
    Cut *text* in its middle so that it counts at most *limit* tokens.
    """
    kept = len(text)
    shown = text
    while kept > 0 and count(shown) > limit:
        kept = min(int(kept * 0.95 * limit / max(count(shown), 1)), kept - 1)
        head = kept * 3 // 4
        shown = f"{text[:head]} … {text[len(text) - (kept - head) :]}" if kept > 0 else ""
    return shown.strip()


def _scale(units: Sequence[Unit], count: Callable[[str], int]) -> float:
    step = max(1, len(units) // _SAMPLE_UNITS)
    sample = "\n".join(unit.text for unit in units[::step])[:_SAMPLE_CHARS]
    low, high = _RATIO_BOUNDS
    return min(max(count(sample) / max(pieces(sample), 1), low), high)
