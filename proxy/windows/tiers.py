"""
The tiers of context windows: temporary targets for one retry when an error names no number, never persisted.
"""

from __future__ import annotations

from collections.abc import Sequence

TIERS = (2_000_000, 1_000_000, 512_000, 256_000, 200_000, 128_000, 64_000, 32_000, 16_000, 8_000, 4_000)


def next_tier(below: int, tiers: Sequence[int] = TIERS) -> int | None:
    """
    Return the largest tier under *below*.
    """
    return max((tier for tier in tiers if tier < below), default=None)
