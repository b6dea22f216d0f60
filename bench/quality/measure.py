"""
Count what survives.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.quality.generated import Fact
from bench.quality.views import holds


def survives(view: str, fact: Fact) -> bool:
    """
    Tell whether all strings of a fact stand together in one line of the view.
    """
    if not all(needle in view for needle in fact.needles):
        return False
    return any(all(holds(line, needle) for needle in fact.needles) for line in view.splitlines())


def is_stale(view: str, fact: Fact) -> bool:
    """
    Tell whether the value that a fact replaced stands there without the new one.
    """
    return bool(fact.stale) and holds(view, fact.stale) and not survives(view, fact)


def tally(view: str, facts: Sequence[Fact], into: dict[str, list[int]]) -> None:
    """
    Add to *into*, by kind, how many facts survive and how many there are.
    """
    for fact in facts:
        kept, total = into.setdefault(fact.kind, [0, 0])
        into[fact.kind] = [kept + survives(view, fact), total + 1]
        if fact.stale:
            alone, total = into.setdefault("stale alone", [0, 0])
            into["stale alone"] = [alone + is_stale(view, fact), total + 1]
