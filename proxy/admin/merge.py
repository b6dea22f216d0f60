"""
Several processes told as one: counters added, newest first, the best known of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from proxy.admin.contract import Json

_EARLIEST = ("started",)
_LATEST = ("now", "last_at", "last_fault_at")


def merged_stats(parts: Sequence[Json]) -> Json:
    """
    Return the sums of *parts*: numbers added, tables merged, lists of named rows joined by what names them.
    """
    merged: Json = {}
    for part in parts:
        for name, value in part.items():
            merged[name] = _merged(name, merged[name], value) if name in merged else value
    return merged


def best_rows(lists: Iterable[Sequence[Json]], *, by: Sequence[str], best: Callable[[Json], Any]) -> list[Json]:
    """
    Return for each value of *by* the one row that is *best*.
    """
    rows: dict[tuple[Any, ...], Json] = {}
    for row in (row for rows_of_one in lists for row in rows_of_one):
        key = tuple(row.get(name) for name in by)
        if key not in rows or best(row) > best(rows[key]):
            rows[key] = row
    return list(rows.values())


def _merged(name: str, one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return merged_stats([one, other])
    if isinstance(one, list) and isinstance(other, list):
        return one + [each for each in other if each not in one]
    if name in _EARLIEST:
        return min(one, other)
    if name in _LATEST:
        return max(one, other)
    return one + other if _is_number(one) and _is_number(other) else one


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
