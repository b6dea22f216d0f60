"""
A Chinese set with labels: what the assistant told of places, asked for again after the whole conversation was folded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.quality.views import Count, size
from proxy.chat.messages import Message, leading_system_rows

FILE = "crosswoz_zh.jsonl"
TYPE = "crosswoz-inform"


@dataclass(frozen=True)
class Labelled:
    """
    A whole conversation and the answers that its labels ask for.
    """

    rows: tuple[Message, ...]
    tokens: int
    answers: tuple[str, ...]


def labelled(folder: Path, count: Count) -> Iterator[Labelled]:
    path = folder / FILE
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        data = json.loads(line)
        rows = data["messages"][leading_system_rows(data["messages"]) :]
        answers = tuple(probe["answer"] for probe in data["probes"] if probe["type"] == TYPE)
        yield Labelled(tuple(rows), sum(size(row, count) for row in rows), answers)
