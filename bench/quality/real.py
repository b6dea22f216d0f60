"""
Recorded conversations: which exact values that the assistant uses later survive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.quality.views import TAIL_SHARE, Count, holds, row_text, size, tail_start, visible
from proxy.chat.groups import group_starts
from proxy.chat.messages import Message, is_assistant, leading_system_rows

CUTS = (0.5, 0.75, 0.9)
BUDGET = 0.2  # at which head and tail are taken to tell hard values from others
SMALLEST = 5_000
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


def cases(folder: Path, count: Count, *, source: str = "identifiers", cuts: Sequence[float] = CUTS) -> Iterator[Case]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            data = json.loads(line)
            for share in cuts:
                yield from _case(path.stem, data, count, source, share)


def _case(name: str, data: dict, count: Count, source: str, share: float) -> Iterator[Case]:
    messages = data["messages"]
    lead = leading_system_rows(messages)
    cut = next((start for start in group_starts(messages) if start > lead and start >= share * len(messages)), None)
    if cut is None:
        return
    rows = messages[lead:cut]
    tokens = sum(size(row, count) for row in rows)
    if not SMALLEST <= tokens <= LARGEST:
        return
    found = _identifiers(rows, messages[cut:]) if source == "identifiers" else _probes(data["probes"], cut, rows)
    if found:
        near = visible([*rows[:1], *rows[tail_start(rows, TAIL_SHARE * BUDGET * tokens, count) :]])
        yield Case(f"{name}@{share}", tuple(rows), tokens, tuple((needle, not holds(near, needle)) for needle in found))


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
