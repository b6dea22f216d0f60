"""
Durations and byte sizes as people write them: ``30s``, ``1h``, ``64MiB``.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmgt]i?)?b?", re.IGNORECASE)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}


def parse_duration(value: object) -> float:
    """
    Return seconds; a bare number is seconds. Raises ``ValueError`` on anything else.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError("not a duration: write 30s, 5m, 1h, 7d or 500ms")
    return float(match[1]) * _SECONDS[match[2] or "s"]


def parse_bytes(value: object) -> int:
    """
    Return bytes; ``KiB`` counts in 1,024 and ``KB`` in 1,000. Raises ``ValueError`` on anything else.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError("not a size: write 64MiB, 10MB or a number of bytes")
    unit = (match[2] or "").lower()
    base = 1_024 if unit.endswith("i") else 1_000
    return int(float(match[1]) * base ** _POWERS.get(unit[:1], 0))


Seconds = Annotated[float, BeforeValidator(parse_duration)]
Bytes = Annotated[int, BeforeValidator(parse_bytes)]
