"""
Read and write JSON as clients really send it.
"""

from __future__ import annotations

import json as stdlib_json
from typing import Any

import orjson

_NESTED = frozenset({dict, list})


def loads(body: bytes) -> Any:
    """
    Parse *body*; lone surrogates, NaN and numbers beyond 64 bits, which orjson refuses, are accepted.

    Raises ``ValueError`` where it is no JSON.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass  # what is really broken is rare, so that a second look costs nothing
    try:
        return stdlib_json.loads(body.decode("utf-8"))
    except RecursionError as exc:
        raise ValueError("JSON is nested too deeply") from exc


def loads_plain(body: bytes) -> Any:
    """
    Parse *body* as the standard has it. Raises ``ValueError`` where it is anything else.
    """
    return orjson.loads(body)


def dumps(value: object) -> bytes:
    """
    Serialise compactly; text with lone surrogates is written with escapes.
    """
    try:
        return orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        return stdlib_json.dumps(value, separators=(",", ":")).encode("ascii")  # noqa: TID251 - orjson refused it


def deeper_than(value: object, levels: int) -> bool:
    """
    Tell whether objects and arrays are nested more than *levels* deep in a parsed *value*.
    """
    level = [value] if isinstance(value, dict | list) else []
    while level and levels:
        levels -= 1
        level = [
            item for one in level for item in (one.values() if type(one) is dict else one) if type(item) in _NESTED
        ]
    return bool(level)


def clean_text(text: str) -> str:
    """
    Replace lone surrogates, so that text of ours can always be encoded.
    """
    return text.encode("utf-8", "replace").decode("utf-8")
