"""
How far the rules carry to wordings that they were not written for, and that they have not lost any since.

Each file was written before the rules met it; what they made of it then stands in ``docs/reference/faults.md``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from proxy.recovery.classify import classify, classify_with
from proxy.recovery.fault import Fault
from proxy.recovery.normalise import normalise
from proxy.recovery.rules import PRECEDENCE
from tests.support.shared import shared_file

OVER = "context_overflow"
FILES = (
    "wordings_sixth.jsonl",
    "wordings_seventh.jsonl",
    "wordings_eighth.jsonl",
    "wordings_ninth.jsonl",
    "wordings_tenth.jsonl",
    "wordings_eleventh.jsonl",
    "wordings_twelfth.jsonl",
    "wordings_thirteenth.jsonl",
    "wordings_fourteenth.jsonl",
    "wordings_fifteenth.jsonl",
    "wordings_sixteenth.jsonl",
    "wordings_seventeenth.jsonl",
)
Row = dict[str, Any]
Judge = Callable[[Row], Fault]


@dataclass(frozen=True)
class Score:
    """
    Shares of 1: found overflows, found ones that are overflows, labels that are right.
    """

    recall: float
    precision: float
    labels: float


def score(rows: Sequence[Row], judge: Judge) -> Score:
    verdicts = [(judge(row).label, row["label"]) for row in rows]
    hits = verdicts.count((OVER, OVER))
    return Score(
        recall=hits / sum(want == OVER for _, want in verdicts),
        precision=hits / sum(got == OVER for got, _ in verdicts),
        labels=sum(got == want for got, want in verdicts) / len(verdicts),
    )


def as_written(row: Row) -> Fault:
    return classify(_status(row), row["body"].encode())


def without_own_rules(row: Row) -> Fault:
    tables: Iterable = [[rule for rule in table if rule.seen != row["provider"]] for table in PRECEDENCE]
    return classify_with(list(tables), _status(row), normalise(row["body"].encode()))


@pytest.mark.parametrize("name", FILES)
def test_every_label_is_right(name: str) -> None:
    """
    Neither an overflow is missed nor anything else taken for one.
    """
    rows = _rows(Path(__file__).with_name(name))

    assert [row["body"] for row in rows if as_written(row).label != row["label"]] == []


def test_numbers_are_read_right() -> None:
    """
    Of the limits and sizes that the bodies state, 97 of 100 are read right.
    """
    rows = [row for name in FILES for row in _rows(Path(__file__).with_name(name)) if row["label"] == OVER]
    limits = [as_written(row).limit == row["limit"] for row in rows if row["limit"]]
    sizes = [row["requested"] in (as_written(row).prompt, as_written(row).total) for row in rows if row["requested"]]

    assert sum(limits) / len(limits) >= 0.97
    assert sum(sizes) / len(sizes) >= 0.97


def test_no_other_refusal_states_a_window() -> None:
    """
    Rates, money, output caps, pictures and bytes are never taken for a window.
    """
    rows = [row for name in FILES for row in _rows(Path(__file__).with_name(name)) if row["label"] != OVER]

    assert [row["body"] for row in rows if as_written(row).limit is not None] == []


def test_figures_with_each_provider_left_out() -> None:
    """
    On the collection of real bodies, each judged without the rules that were written for its provider alone.
    """
    lines = shared_file("data/errors.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["label"] != "silent_truncation_note"]
    whole, left_out = score(rows, as_written), score(rows, without_own_rules)

    assert (whole.recall >= 0.97, whole.precision >= 0.99, whole.labels >= 0.95) == (True, True, True)
    assert (left_out.recall >= 0.95, left_out.precision >= 0.99, left_out.labels >= 0.93) == (True, True, True)


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _status(row: Row) -> int | None:
    return row["status"] if isinstance(row["status"], int) and row["status"] != 200 else None
