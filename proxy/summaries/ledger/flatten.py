"""
Write JSON as short lines: the plain fields of one object a line, under the path that leads to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from proxy.chat.json import loads

LINE_CHARS = 320
_PATH_KEYS = 2
_DEPTH = 30
_LARGEST = 4_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """
    One line of an output, and its *shape*: lines of a kind share it.
    """

    text: str
    shape: str


def flatten_json(text: str) -> list[Line] | None:
    """
    Return the lines of a JSON text, ``None`` where it is none (or not worth it).
    """
    stripped = text.strip()
    if not stripped.startswith(("{", "[")) or len(stripped) > _LARGEST:
        return None
    try:
        value = loads(stripped.encode("utf-8", "replace"))
    except ValueError:
        return None
    return list(_walk((), value)) if isinstance(value, dict | list) else None


def scalar(value: object) -> str:
    """
    Write a plain JSON value as people would.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _walk(path: tuple[str, ...], value: Any) -> Iterator[Line]:
    if len(path) > _DEPTH:
        return
    if isinstance(value, dict):
        yield from _object(path, value)
    elif isinstance(value, list) and not all(_is_plain(item) for item in value):
        for item in value:
            yield from _walk(path, item)
    elif isinstance(value, list):
        yield from _pack(path, [scalar(item) for item in value], shape="[]", joint=", ")
    else:
        yield from _long_text(path, scalar(value))


def _object(path: tuple[str, ...], value: dict[str, Any]) -> Iterator[Line]:
    plain = {key: item for key, item in value.items() if _is_short(item)}
    fields = [f"{key}={_field(item)}" for key, item in plain.items() if item not in ("", [], {}, None)]
    yield from _pack(path, fields, shape=",".join(plain), joint=" ")
    for key, item in value.items():
        if key not in plain:
            yield from _walk((*path, key), item)


def _pack(path: tuple[str, ...], pieces: list[str], *, shape: str, joint: str) -> Iterator[Line]:
    prefix = ".".join(path[-_PATH_KEYS:])
    head = f"{prefix}: " if prefix else ""
    line = ""
    for piece in pieces:
        if line and len(line) + len(piece) > LINE_CHARS:
            yield Line(head + line, shape)
            line = ""
        line = f"{line}{joint}{piece}" if line else piece
    if line:
        yield Line(head + line, shape)


def _long_text(path: tuple[str, ...], text: str) -> Iterator[Line]:
    prefix = path[-1] + ": " if path else ""
    for line in text.splitlines():
        if line.strip():
            yield Line(prefix + line, "")
            prefix = ""


def _field(item: Any) -> str:
    text = "[" + ", ".join(scalar(part) for part in item) + "]" if isinstance(item, list) else scalar(item)
    return f'"{text}"' if " " in text else text


def _is_plain(item: object) -> bool:
    return not isinstance(item, dict | list) and not (
        isinstance(item, str) and ("\n" in item or len(item) > LINE_CHARS)
    )


def _is_short(item: object) -> bool:
    if isinstance(item, list):
        return all(_is_plain(part) for part in item) and sum(len(scalar(part)) for part in item) < LINE_CHARS // 4
    return _is_plain(item)
