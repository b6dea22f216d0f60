"""
The ``compressor``: prune, bound, summarise, assemble.

Source: the five phases of the reference design, carried over to a proxy that keeps the client's originals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from proxy.chat.groups import group_starts, pending_round
from proxy.chat.messages import Message, is_system, is_user
from proxy.chat.roles import has_prefill
from proxy.compaction import handover
from proxy.compaction.bound import TailRule, head_end, tail_start
from proxy.compaction.fit import fewer_media
from proxy.compaction.handover import is_real_ask
from proxy.compaction.layout import Layout, edited, with_edits
from proxy.compaction.media import media_count
from proxy.compaction.prune import media_edits, prune_edits, prune_frontier
from proxy.compaction.restate import restating
from proxy.compaction.shorten import shorten
from proxy.engines.base import Compaction, Engine, Posture, Summarize, Task
from proxy.engines.bench import Bench
from proxy.engines.evidence import evidence, tail_in_sight
from proxy.engines.fitting import cut_to_fit
from proxy.engines.sizer import Sizer
from proxy.summaries.base import SummaryJob
from proxy.tokens.counter import TokenCounter

MANY_ROWS = 200
"""Longer histories are bounded in a thread."""
LEAST_FOLDED = 0.25
"""Of the threshold, what a fold takes in at least where it has to stop at rows that change each turn."""


class Compressor(Engine):
    """
    Folds the old middle of a conversation into a summary.
    """

    name = "compressor"

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    async def compact(self, task: Task, *, summarize: Summarize) -> Compaction:
        """
        Return a layout at or below the target where one can be had; what does not fit is reported, never looped on.
        """
        bench = Bench(task, Sizer(task.rows, self._counter, fixed=task.budget.fixed), list(task.rows))
        if not bench.rows:
            return bench.refused("there is nothing but system rows")
        if task.budget.fixed >= task.budget.usable:
            return bench.refused("system and tools alone fill the window")
        if task.again is not None:
            unwritten = handover.hand_over("", window=task.budget.window)
            return await self._written(bench, replace(task.again, summary=unwritten), summarize)
        for cheap in _without_model(bench) if _may_prune_alone(task) else ():
            # Pruning that is only just enough now will not be once the turns still to come are there.
            if bench.fits(cheap, task.budget.target - task.keep_growing):
                return bench.finished(cheap)
        return await self._fold(bench, summarize)

    async def _fold(self, bench: Bench, summarize: Summarize) -> Compaction:
        # Each old result of a long history is looked through, which no stream should wait for.
        bounds = await asyncio.to_thread(_bounds, bench) if len(bench.rows) > MANY_ROWS else _bounds(bench)
        nothing = bounds.cut <= max(bench.base.cut if bench.base.summary else 0, bounds.head_end)
        little = not nothing and not _is_worth_it(bench, bounds)
        if little and bench.task.posture is Posture.NORMAL:
            return bench.refused("beside the rows that change each turn there is too little to fold")
        if nothing or little:
            *_, pruned = _without_model(bench)
            return bench.finished(_fitted(bench, pruned))
        return await self._written(bench, bounds, summarize)

    async def _written(self, bench: Bench, bounds: Layout, summarize: Summarize) -> Compaction:
        job = _summary_job(bench, bounds)
        summary = await summarize(job)
        text = shorten(summary.text, tokens=job.ceiling_tokens, count=self._counter.text)
        text = handover.hand_over(text, window=bench.task.budget.window)
        layout = replace(bounds, summary=text, depth=_depth(bench) + 1)
        return bench.finished(_fitted(bench, layout), summary=summary, job=job)


def _is_worth_it(bench: Bench, bounds: Layout) -> bool:
    """
    Tell whether enough is folded: beside large rows that stay, the threshold alone would have a fold made each turn.
    """
    budget = bench.task.budget
    if not budget.held or bench.task.posture is Posture.HARD_FIT:
        return True
    begin = bench.base.cut if bench.base.summary else bounds.head_end
    before = bench.sizer.tokens(bench.task.previous)
    least = max(budget.threshold * LEAST_FOLDED, 2 * budget.ratios.minimum_gain * before)
    return sum(bench.sizer.costs[begin : bounds.cut]) >= least


def _may_prune_alone(task: Task) -> bool:
    return task.prune_alone or task.posture is not Posture.NORMAL


def _fitted(bench: Bench, layout: Layout) -> Layout:
    return layout if bench.task.posture is Posture.NORMAL else cut_to_fit(bench, layout)


def _without_model(bench: Bench) -> Iterator[Layout]:
    """
    Yield the layouts that need no summary, the gentlest first.
    """
    rows, base = bench.rows, bench.base
    frontier = _frontier(bench)
    newest = _newest_media(rows)
    if bench.task.posture is not Posture.NORMAL or bench.task.byte_limit is not None:
        base = with_edits(base, media_edits(rows, range(base.cut, newest), keep=0))
        yield base
    if bench.task.byte_limit is not None:
        yield fewer_media(base, rows, fits=lambda layout: bench.fits(layout, bench.task.budget.target))
    media = media_edits(rows, range(base.cut, min(frontier, newest)), keep=0)
    yield with_edits(base, (*prune_edits(rows[: bench.stable], start=base.cut, frontier=frontier), *media))


def _frontier(bench: Bench) -> int:
    task = bench.task
    if task.posture is not Posture.NORMAL:
        pending = pending_round(bench.rows)
        return min(pending.start if pending else max(len(bench.rows) - 1, 0), bench.stable)
    frontier = prune_frontier(
        bench.rows,
        bench.sizer.costs,
        protect_last=task.budget.ratios.protect_last,
        ceiling=task.budget.tail_ceiling,
    )
    return min(frontier, bench.stable)


def _newest_media(rows: list[Message]) -> int:
    """
    Return the newest row that carries media; that one is kept longest.
    """
    return max((index for index, row in enumerate(rows) if media_count(row)), default=0)


def _bounds(bench: Bench) -> Layout:
    """
    Return the layout of the fold, its summary still to be written.
    """
    task, rows = bench.task, bench.rows
    *_, pruned = _without_model(bench)
    costs = _costs_after(bench, pruned)
    # An extract says more of an old result than its stub: then the tail is as long as whole rows allow.
    cut = _tail_start(bench, costs if _may_prune_alone(task) else bench.sizer.costs)
    head = 0
    if bench.base.summary is None and task.posture is Posture.NORMAL:
        head = head_end(rows, protect_first=task.budget.ratios.protect_first, has_system=bool(task.system))
        if head >= cut or sum(costs[:head]) > (task.budget.target - task.budget.fixed) // 4:
            head = 0
    # In the head, no stub may point to a result that is folded.
    edits = (edit for edit in pruned.edits if edit.row >= cut or (edit.row < head and edit.kind != "duplicate"))
    layout = Layout(head_end=head, cut=cut, summary=handover.hand_over("", window=task.budget.window))
    return restating(with_edits(layout, edits), rows, bench.sizer.costs, room=max(task.budget.room // 4, 1))


def _costs_after(bench: Bench, layout: Layout) -> list[int]:
    costs = list(bench.sizer.costs)
    for index, row in edited(layout, bench.rows).items():
        costs[index] = bench.sizer.counter.message(row)
    return costs


def _tail_start(bench: Bench, costs: list[int]) -> int:
    budget, rows = bench.task.budget, bench.rows
    if budget.held:
        # Rows that stay are beside the tail, as system rows are: it is the newest of the others.
        rows = rows[: bench.stable]
    return min(_walked(bench.task, rows, costs[: len(rows)]), bench.stable)


def _walked(task: Task, rows: list[Message], costs: list[int]) -> int:
    budget = task.budget
    if task.posture is Posture.NORMAL:
        tail = max(budget.tail - task.keep_growing, 0)
        return tail_start(rows, costs, TailRule(tail, budget.tail_ceiling - task.keep_growing))
    if task.posture is Posture.SQUEEZE:
        return tail_start(rows, costs, TailRule(budget.tail // 2, budget.tail, rows=1, user_rounds=1))
    return _newest_turn(rows)


def _newest_turn(rows: list[Message]) -> int:
    """
    Return where the least tail begins: the pending round or the last turn, with the ask that a prefill follows.

    System rows after it come with it.
    """
    starts = [start for start in group_starts(rows) if not is_system(rows[start])]
    if not starts:
        return group_starts(rows)[-1]
    asked_before = len(starts) > 1 and is_user(rows[starts[-2]]) and has_prefill(rows)
    return starts[-2] if asked_before else starts[-1]


def _summary_job(bench: Bench, bounds: Layout) -> SummaryJob:
    rows, budget, base = bench.rows, bench.task.budget, bench.base
    folding = base.summary is not None and _depth(bench) > 0
    fresh = [*rows[: base.head_end], *rows[base.cut : bounds.cut]] if folding else rows[bounds.head_end : bounds.cut]
    apart = sum(bench.sizer.costs[bench.stable :]) if budget.held else 0
    ceiling = budget.summary_ceiling(bench.sizer.tokens(bounds) - budget.fixed - apart)
    middle = sum(bench.sizer.costs[bounds.head_end : bounds.cut])
    return SummaryJob(
        originals=rows[bounds.head_end : bounds.cut],
        fresh=fresh,
        previous=handover.unwrap(base.summary or "") if folding else None,
        tail=tail_in_sight(rows, bounds),
        evidence=evidence(rows, bounds),
        budget_tokens=min(budget.summary(middle), ceiling),
        ceiling_tokens=ceiling,
        first_ask=_first_ask(bench, bounds),
        focus=bench.task.focus,
    )


def _first_ask(bench: Bench, bounds: Layout) -> str:
    """
    Return the first real ask where it is folded and not restated whole.
    """
    first = next((index for index, row in enumerate(bench.rows) if is_real_ask(row)), None)
    restated_whole = first is not None and first == bounds.restated and not bounds.restated_head
    if first is None or restated_whole or not bounds.head_end <= first < bounds.cut:
        return ""
    return handover.ask_text(bench.rows[first])


def _depth(bench: Bench) -> int:
    """
    Return how many folds the next summary stands on; past the limit it is made from the originals again.
    """
    depth = bench.base.depth
    return 0 if depth >= bench.task.rederive_depth else depth
