"""
Durations, sizes and regexes as people write them in settings.
"""

from __future__ import annotations

import math
import re
from typing import Annotated

import regex
from pydantic import AfterValidator, BeforeValidator

_DURATION_UNITS: dict[str, float] = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SIZE_UNITS: dict[str, float] = {"b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    _SIZE_UNITS |= {_letter: 1000**_power, f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power}
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*")


def parse_duration(value: object) -> float:
    """
    Return seconds from a number or from text such as ``500ms``, ``30s``, ``5m``, ``1h`` and ``7d``.

    Raises ``ValueError`` without repeating the value, which may have come from a secret.
    """
    return _quantity(value, _DURATION_UNITS, "is no duration: write 30s, 5m, 1h, 7d or 500ms")


def parse_size(value: object) -> int:
    """
    Return bytes from a number or from text such as ``64KiB``, ``10MB`` and ``1GiB``.

    Raises ``ValueError`` without repeating the value.
    """
    return round(_quantity(value, _SIZE_UNITS, "is no size: write 64KiB, 10MB or 1GiB"))


def check_regex(text: str) -> str:
    """
    Return *text* when it compiles as a regular expression.

    Raises ``ValueError`` that says where it does not.
    """
    try:
        regex.compile(text)
    except regex.error as exc:
        raise ValueError(f"is no regular expression: {exc}") from exc
    return text


def _quantity(value: object, units: dict[str, float], mistake: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    found = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    # A bare number in text comes from ${VAR}, where YAML had no say.
    unit = units.get(found[2].lower()) if found and found[2] else 1
    if found is None or unit is None:
        raise ValueError(mistake)
    return float(found[1]) * unit


Seconds = Annotated[float, BeforeValidator(parse_duration)]
Bytes = Annotated[int, BeforeValidator(parse_size)]
Regex = Annotated[str, AfterValidator(check_regex)]
