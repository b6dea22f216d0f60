"""
Recorded conversations: which exact values that the assistant uses later survive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.quality.views import Count, holds, row_text, size, tail_start, visible
from proxy.chat.groups import group_starts
from proxy.chat.messages import Message, is_assistant, leading_system_rows

CUTS = (0.5, 0.75, 0.9)
SMALLEST = 6_000
LARGEST = 160_000
_NAME = re.compile(r"[A-Za-z0-9_@][\w@./:-]{3,}[A-Za-z0-9]")


@dataclass(frozen=True)
class Case:
    """
    One prefix of a recorded conversation and the values used after it; *hard* ones stand in neither head nor tail.
    """

    name: str
    rows: tuple[Message, ...]
    tokens: int
    needles: tuple[tuple[str, bool], ...]


def cases(folder: Path, count: Count, *, source: str = "identifiers") -> Iterator[Case]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            data = json.loads(line)
            yield from _cases(path.stem, data, count, source)


def _cases(name: str, data: dict, count: Count, source: str) -> Iterator[Case]:
    messages = data["messages"]
    lead = leading_system_rows(messages)
    starts = [start for start in group_starts(messages) if start > lead]
    sizes = [size(row, count) for row in messages]
    for share in CUTS:
        cut = next((start for start in starts if start >= share * len(messages)), None)
        if cut is None:
            continue
        rows = messages[lead:cut]
        tokens = sum(sizes[lead:cut])
        if not SMALLEST <= tokens <= LARGEST:
            continue
        found = _identifiers(rows, messages[cut:]) if source == "identifiers" else _probes(data["probes"], cut, rows)
        if found:
            tail = rows[tail_start(rows, 0.05 * tokens, count) :]
            near = visible([*rows[:1], *tail])
            yield Case(
                f"{name}@{share}", tuple(rows), tokens, tuple((needle, not holds(near, needle)) for needle in found)
            )


def _identifiers(rows: Sequence[Message], later: Sequence[Message]) -> list[str]:
    said = visible(rows)
    found: dict[str, None] = {}
    for row in later:
        for match in _NAME.findall(row_text(row)) if is_assistant(row) else ():
            if _is_exact(match) and match not in found and holds(said, match):
                found[match] = None
    return list(found)


def _is_exact(text: str) -> bool:
    return len(text) >= 4 and bool(re.search(r"\d", text) or re.search(r"[_/@]|\w\.\w|[a-z][A-Z]", text))


def _probes(probes: Sequence[dict], cut: int, rows: Sequence[Message]) -> list[str]:
    said = visible(rows)
    wanted = [p["answer"] for p in probes if p.get("type") == "used_later" and p["first_msg"] < cut <= p["use_msg"]]
    return [answer for answer in dict.fromkeys(wanted) if holds(said, answer)]
