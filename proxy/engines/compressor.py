"""
The ``compressor``: prune, bound, summarise, assemble.

Source: the five phases of the reference design, carried over to a proxy that keeps the client's originals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from proxy.chat.groups import groups, pending_round
from proxy.chat.messages import Message, is_user, parts, text_of
from proxy.compaction import handover
from proxy.compaction.bound import TailRule, head_end, is_real_ask, tail_start
from proxy.compaction.edits import is_media_part
from proxy.compaction.fit import argument_edits, cut_bodies
from proxy.compaction.layout import Layout
from proxy.compaction.prune import media_edits, prune_frontier, stub_edits
from proxy.compaction.restate import restating
from proxy.engines.base import Compaction, Engine, Posture, Report, Summarize, Task
from proxy.engines.sizer import Sizer
from proxy.records.record import Edit
from proxy.summaries.base import Summary, SummaryJob
from proxy.tokens.counter import TokenCounter


@dataclass(frozen=True, slots=True)
class _Bench:
    """
    What every step of one compaction works with.
    """

    task: Task
    sizer: Sizer

    @property
    def rows(self) -> list[Message]:
        return list(self.task.rows)

    def fits(self, layout: Layout, limit: int) -> bool:
        within_bytes = self.task.byte_limit is None or self.sizer.bytes(layout) <= self.task.byte_limit
        return within_bytes and self.sizer.tokens(layout) <= limit

    @property
    def base(self) -> Layout:
        """
        The layout to build on: the previous one, or the client's own rows.
        """
        return self.task.previous or Layout(head_end=0, cut=0, summary=None)


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
        bench = _Bench(task, Sizer(task.rows, self._counter, fixed=task.budget.fixed))
        before = bench.sizer.tokens(task.previous)
        if task.budget.fixed >= task.budget.usable:
            return Compaction(None, Report(before, before, fits=False, why="system and tools alone fill the window"))
        for cheap in _without_model(bench):
            if bench.fits(cheap, task.budget.target):
                return _finished(bench, cheap, before)
        return await self._fold(bench, before, summarize)

    async def _fold(self, bench: _Bench, before: int, summarize: Summarize) -> Compaction:
        bounds = _bounds(bench)
        if bounds.cut <= max(bench.base.cut if bench.base.summary else 0, bounds.head_end):
            return self._fitted(bench, _fallback_layout(bench), before)
        job = _summary_job(bench, bounds)
        summary = await summarize(job)
        text = handover.hand_over(summary.text, window=bench.task.budget.window)
        layout = replace(bounds, summary=text, depth=_depth(bench) + 1)
        return self._fitted(bench, layout, before, summary=summary, job=job)

    def _fitted(
        self,
        bench: _Bench,
        layout: Layout,
        before: int,
        *,
        summary: Summary | None = None,
        job: SummaryJob | None = None,
    ) -> Compaction:
        if bench.task.posture is not Posture.NORMAL:
            layout = _cut_to_fit(bench, layout)
        return _finished(bench, layout, before, summary=summary, job=job)


def _finished(
    bench: _Bench, layout: Layout, before: int, *, summary: Summary | None = None, job: SummaryJob | None = None
) -> Compaction:
    after = bench.sizer.tokens(layout)
    fits = bench.fits(layout, bench.task.budget.usable)
    least_gain = bench.task.budget.ratios.minimum_gain * before
    smaller_bytes = bench.task.byte_limit is not None and fits
    report = Report(
        before,
        after,
        folded=layout.cut - layout.head_end,
        edited=len(layout.edits),
        fits=fits,
        summary=summary,
        job=job,
    )
    if before - after < least_gain and not smaller_bytes:
        return Compaction(None, replace(report, after=before, fits=False, why="the gain would be too small"))
    return Compaction(layout, report)


def _without_model(bench: _Bench) -> Iterator[Layout]:
    """
    Yield the layouts that need no summary, the gentlest first.
    """
    rows, base = bench.rows, bench.base
    frontier = _frontier(bench)
    if bench.task.posture is not Posture.NORMAL or bench.task.byte_limit is not None:
        yield _with_edits(base, media_edits(rows, start=base.cut, frontier=_newest_media(rows)))
    media = media_edits(rows, start=base.cut, frontier=min(frontier, _newest_media(rows)))
    yield _with_edits(base, (*stub_edits(rows, start=base.cut, frontier=frontier), *media))


def _with_edits(layout: Layout, edits: tuple[Edit, ...]) -> Layout:
    known = {(edit.row, edit.kind) for edit in layout.edits}
    new = tuple(edit for edit in edits if (edit.row, edit.kind) not in known)
    return replace(layout, edits=tuple(sorted((*layout.edits, *new), key=lambda edit: edit.row)))


def _frontier(bench: _Bench) -> int:
    task = bench.task
    if task.posture is not Posture.NORMAL:
        pending = pending_round(bench.rows)
        return pending.start if pending else max(len(bench.rows) - 1, 0)
    return prune_frontier(
        bench.rows,
        bench.sizer.costs,
        protect_last=task.budget.ratios.protect_last,
        ceiling=task.budget.tail_ceiling,
    )


def _newest_media(rows: list[Message]) -> int:
    """
    Return the newest row that carries media; that one is kept longest.
    """
    return max((i for i, row in enumerate(rows) if any(is_media_part(part) for part in parts(row))), default=0)


def _bounds(bench: _Bench) -> Layout:
    """
    Return the layout of the fold, its summary still to be written.
    """
    task, rows = bench.task, bench.rows
    pruned = _with_edits(bench.base, stub_edits(rows, start=bench.base.cut, frontier=_frontier(bench)))
    costs = _costs_after(bench, pruned)
    cut = _tail_start(bench, costs)
    head = 0
    if bench.base.summary is None and task.posture is Posture.NORMAL:
        head = head_end(rows, protect_first=task.budget.ratios.protect_first, has_system=bool(task.system))
        if head >= cut or sum(costs[:head]) > (task.budget.target - task.budget.fixed) // 4:
            head = 0
    edits = tuple(edit for edit in pruned.edits if edit.row >= cut or edit.row < head)
    layout = Layout(head_end=head, cut=cut, summary="", edits=edits)
    return restating(layout, rows, bench.sizer.costs, room=max(task.budget.room // 4, 1))


def _costs_after(bench: _Bench, layout: Layout) -> list[int]:
    costs = list(bench.sizer.costs)
    for edit in layout.edits:
        alone = Layout(head_end=0, cut=edit.row, summary=None, edits=(edit,))
        without = Layout(head_end=0, cut=edit.row, summary=None)
        costs[edit.row] += bench.sizer.tokens(alone) - bench.sizer.tokens(without)
    return costs


def _tail_start(bench: _Bench, costs: list[int]) -> int:
    budget, rows = bench.task.budget, bench.rows
    if bench.task.posture is Posture.NORMAL:
        tail = max(budget.tail - bench.task.keep_growing, 0)
        return tail_start(rows, costs, TailRule(tail, budget.tail_ceiling - bench.task.keep_growing))
    if bench.task.posture is Posture.SQUEEZE:
        return tail_start(rows, costs, TailRule(budget.tail // 2, budget.tail, rows=1, user_rounds=1))
    return _newest_turn(rows)


def _newest_turn(rows: list[Message]) -> int:
    """
    Return where the least tail begins: the pending round, or the latest user row with a prefill after it.
    """
    last = groups(rows)[-1]
    if last.is_tool_round or is_user(rows[last.start]):
        return last.start
    return max((index for index, row in enumerate(rows) if is_user(row)), default=last.start)


def _summary_job(bench: _Bench, bounds: Layout) -> SummaryJob:
    rows, budget, base = bench.rows, bench.task.budget, bench.base
    folding = base.summary is not None and _depth(bench) > 0
    fresh = [*rows[: base.head_end], *rows[base.cut : bounds.cut]] if folding else rows[bounds.head_end : bounds.cut]
    ceiling = budget.summary_ceiling(bench.sizer.tokens(bounds) - budget.fixed)
    middle = sum(bench.sizer.costs[bounds.head_end : bounds.cut])
    return SummaryJob(
        originals=rows[bounds.head_end : bounds.cut],
        fresh=fresh,
        previous=handover.unwrap(base.summary or "") if folding else None,
        tail=rows[bounds.cut :],
        budget_tokens=min(budget.summary(middle), ceiling),
        ceiling_tokens=ceiling,
        first_ask=_first_ask(bench, bounds),
        focus=bench.task.focus,
    )


def _first_ask(bench: _Bench, bounds: Layout) -> str:
    """
    Return the first real ask where it is folded and not restated whole.
    """
    first = next((index for index, row in enumerate(bench.rows) if is_real_ask(row)), None)
    restated_whole = first is not None and first == bounds.restated and not bounds.restated_head
    if first is None or restated_whole or not bounds.head_end <= first < bounds.cut:
        return ""
    return text_of(bench.rows[first])


def _depth(bench: _Bench) -> int:
    """
    Return how many folds the next summary stands on; past the limit it is made from the originals again.
    """
    depth = bench.base.depth
    return 0 if depth >= bench.task.rederive_depth else depth


def _fallback_layout(bench: _Bench) -> Layout:
    """
    Return the layout for when there is nothing to fold: what is stubbed can at least be made smaller.
    """
    *_, pruned = _without_model(bench)
    return pruned


def _cut_to_fit(bench: _Bench, layout: Layout) -> Layout:
    """
    Cut inside long bodies, then call arguments, then media, until the layout fits what is usable.
    """
    rows, limit = bench.rows, bench.task.budget.usable
    steps: list[Callable[[Layout], Layout]] = [lambda plan: plan]
    if bench.task.posture is Posture.HARD_FIT:
        steps += [
            lambda plan: _with_edits(plan, argument_edits(rows, start=plan.cut)),
            lambda plan: _with_edits(plan, media_edits(rows, start=plan.cut, frontier=len(rows))),
        ]
    for step in steps:
        layout = cut_bodies(step(layout), rows, fits=lambda plan: bench.fits(plan, limit))
        if bench.fits(layout, limit):
            break
    return layout
