"""
Cut a layout until it fits what is usable: the deterministic end of the ladder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proxy.compaction import handover
from proxy.compaction.arguments import FEWEST_CHARACTERS, SHOWN_CHARACTERS
from proxy.compaction.fit import (
    EASY_CAP,
    HARDEST_CAP,
    SMALLEST_CAP,
    argument_edits,
    capped,
    cut_bodies,
    fewer_media,
    thinking_edits,
)
from proxy.compaction.layout import Layout, with_edits
from proxy.compaction.shorten import shorten
from proxy.engines.base import Posture
from proxy.engines.bench import Bench

SUMMARY_SHARES = (0.5, 0.25, 0.1, 0.0)
"""How much of the summary stays, step by step, where nothing else helps."""


def cut_to_fit(bench: Bench, layout: Layout) -> Layout:
    """
    Return the first layout that fits; the smallest one where none does.

    Media stay while bodies of a readable length leave room for them; reasoning, call arguments and the summary itself
    are for the hard fit alone.
    """
    for plan, smallest in _plans(bench, layout):
        layout = cut_bodies(plan, bench.rows, fits=lambda cut: bench.fits(cut, bench.limit), smallest=smallest)
        if bench.fits(layout, bench.limit):
            break
    return layout


def _plans(bench: Bench, plan: Layout) -> Iterator[tuple[Layout, int]]:
    rows = bench.rows
    if bench.task.byte_limit is None:
        yield plan, EASY_CAP
    thinned = _thinned(bench, plan, EASY_CAP)
    yield thinned, EASY_CAP
    plan = _thinned(bench, plan, SMALLEST_CAP)
    yield plan, SMALLEST_CAP
    if bench.task.posture is not Posture.HARD_FIT:
        return
    if not bench.task.keep_thinking:
        plan = with_edits(plan, thinking_edits(plan, rows))
        yield plan, SMALLEST_CAP
    for shown in (SHOWN_CHARACTERS, FEWEST_CHARACTERS):
        plan = with_edits(plan, argument_edits(plan, rows, shown=shown))
        yield plan, SMALLEST_CAP
    for share in SUMMARY_SHARES:
        plan = _less_summary(bench, plan, share)
        yield plan, SMALLEST_CAP
    yield plan, HARDEST_CAP


def _thinned(bench: Bench, plan: Layout, cap: int) -> Layout:
    """
    Return the plan with as many media as leave room for bodies of *cap* characters.
    """
    # Where bytes are short, media go before any text is cut.
    whole = bench.task.byte_limit is not None and cap == EASY_CAP
    return fewer_media(
        plan,
        bench.rows,
        fits=lambda fewer: bench.fits(fewer if whole else capped(fewer, bench.rows, cap), bench.limit),
    )


def _less_summary(bench: Bench, plan: Layout, share: float) -> Layout:
    if not plan.summary:
        return plan
    body = handover.unwrap(plan.summary) or ""
    count = bench.sizer.counter.text
    window = bench.task.budget.window
    shorter = shorten(body, tokens=int(count(body) * share), count=count) if share else ""
    return replace(plan, summary=handover.hand_over(shorter, window=window))
