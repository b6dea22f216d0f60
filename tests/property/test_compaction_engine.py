"""
The engine, for any conversation and any window that can hold what must be kept.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from proxy.chat.groups import groups
from proxy.chat.messages import is_assistant, is_user, tool_calls
from proxy.chat.roles import has_prefill
from proxy.compaction.layout import Layout
from proxy.compaction.validate import validate
from proxy.engines.base import Compaction
from proxy.engines.window import Window
from proxy.simulator.rules import introduced
from tests.property.strategies import conversations, turns
from tests.support.folding import COUNTER, Scribe, budget, compact, passes, sent

Row = dict[str, Any]

EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "20"))
PURE = settings(max_examples=EXAMPLES, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
FRAME = 260
"""Tokens of a handover text and of the ask restated after it."""
ROW = 75
"""Tokens of a row cut as far as it goes."""
CALL = 90
"""Tokens of a call whose arguments were replaced."""


def least(rows: Sequence[Row]) -> int:
    """
    Return what the newest turn takes when all of it is cut as far as it goes.
    """
    newest = groups(rows)[-1]
    kept = list(rows[newest.start :])
    if has_prefill(rows):
        kept = [*(row for row in rows[-2:-1] if is_user(row)), {"role": "user"}]
    parts = sum(len(row["content"]) for row in kept if isinstance(row.get("content"), list))
    calls = sum(len(tool_calls(row)) for row in kept)
    prefill = COUNTER.message(rows[-1]) if has_prefill(rows) else 0
    return FRAME + ROW * (len(kept) + parts + 4) + CALL * calls + prefill


def made(rows: Sequence[Row], window: int, **fields: Any) -> Compaction | None:
    """
    Run the passes.
    """
    return asyncio.run(passes(rows, window, **fields))


@st.composite
def folds(draw: st.DrawFn) -> tuple[list[Row], int]:
    """
    Return a conversation and a window that can hold its newest turn.
    """
    rows = draw(conversations())
    return rows, int((least(rows) + 3) * 1.2 * draw(st.sampled_from([1.0, 1.3, 2.0, 4.0])))


@PURE
@given(folds())
def test_what_can_fit_does_fit(fold):
    """
    Either the rows were small enough, or the passes end in rows that are.
    """
    rows, window = fold
    best = made(rows, window)
    usable = window - min(4_096, window // 10)

    size = 3 + COUNTER.messages(rows if best is None or best.layout is None else sent(best.layout, rows))

    assert size <= usable


@PURE
@given(folds())
def test_no_plan_introduces_a_violation(fold):
    """
    Neither our own rules nor the simulator's, written apart from them, find anything that the client's rows lack.
    """
    rows, window = fold
    best = made(rows, window)
    if best is None or best.layout is None:
        return
    planned = sent(best.layout, rows)

    validate(planned, rows)
    assert introduced(rows, planned) == {}


@PURE
@given(folds(), st.lists(turns(), max_size=3))
def test_later_requests_begin_with_the_same_rows(fold, more):
    """
    Whatever the client appends, the rows sent before are a prefix of those sent now, but for calls left open.
    """
    rows, window = fold
    best = made(rows, window)
    if best is None or best.layout is None:
        return
    grown = [*rows, *(row for step in more for row in step)]
    before, after = sent(best.layout, rows), sent(best.layout, grown)

    assert json.dumps(after[: len(before)]) == json.dumps(before)


@PURE
@given(folds())
def test_a_compaction_never_grows_a_request(fold):
    """
    What is sent is smaller than what the client sent.
    """
    rows, window = fold
    best = made(rows, window)
    if best is None or best.layout is None:
        return

    assert COUNTER.messages(sent(best.layout, rows)) < COUNTER.messages(rows)


@PURE
@given(folds())
def test_the_same_request_gives_the_same_layout(fold):
    """
    Equal rows, not the same objects: nothing of a run goes into the next.
    """
    rows, window = fold
    again = json.loads(json.dumps(rows))
    one, other = made(rows, window), made(again, window)

    assert (one and one.layout) == (other and other.layout)
    if one and one.layout:
        assert sent(one.layout, rows) == sent(one.layout, again)


@PURE
@given(folds())
def test_compacting_a_compaction_comes_to_an_end(fold):
    """
    Each step gains or stops; a handful of steps, never a loop.
    """
    rows, window = fold
    layout: Layout | None = None
    for _ in range(12):
        best = made(rows, window, previous=layout)
        if best is None or best.layout is None:
            return
        layout = best.layout

    raise AssertionError("still compacting after twelve steps")


@PURE
@given(folds(), st.integers(50, 4_000))
def test_a_byte_limit_never_makes_a_plan_illegal(fold, limit):
    """
    Bytes are a second budget; however small, what comes out keeps the rules.
    """
    rows, window = fold
    best = made(rows, window * 20, byte_limit=limit * 10)
    if best is None or best.layout is None:
        return

    planned = sent(best.layout, rows)
    validate(planned, rows)
    assert introduced(rows, planned) == {}


@PURE
@given(folds())
def test_rows_that_stay_are_the_clients_own_objects(fold):
    """
    An unchanged row is passed on as it is, so that it is sent as the client's own bytes.
    """
    rows, window = fold
    best = made(rows, window)
    if best is None or best.layout is None:
        return
    layout = best.layout
    changed = {edit.row for edit in layout.edits}
    own = {id(row) for row in sent(layout, rows)}
    first = layout.cut if is_assistant(rows[layout.cut]) else layout.cut + 1
    broken = {"orphan_result", "duplicate_result", "open_call"}
    if any(kind in broken for kind in introduced([], rows)):
        return

    assert all(id(rows[index]) in own for index in range(first, len(rows)) if index not in changed)


@PURE
@given(folds())
def test_the_window_engine_keeps_the_rules_too(fold):
    """
    Plain truncation is legal, smaller, and stops.
    """
    rows, window = fold
    best = made(rows, window, engine=Window(COUNTER))
    if best is None or best.layout is None:
        return

    planned = sent(best.layout, rows)
    validate(planned, rows)
    assert introduced(rows, planned) == {}
    assert COUNTER.messages(planned) < COUNTER.messages(rows)


@PURE
@given(folds(), st.integers(1, 30_000))
def test_a_summary_of_any_length_is_cut_to_its_ceiling(fold, size):
    """
    A model that writes too much does not make the request too large.
    """
    rows, window = fold
    scribe = Scribe("## Goal\n" + "word and more words\n" * (size // 20) + "## Done\n" + "x" * size)
    best = made(rows, window, scribe=scribe)
    usable = window - min(4_096, window // 10)

    if best is not None and best.layout is not None:
        assert 3 + COUNTER.messages(sent(best.layout, rows)) <= usable


@st.composite
def rewritten(draw: st.DrawFn) -> tuple[list[Row], int, dict[str, Any]]:
    """
    Return a conversation, a window, and what is known of the rows at its end that change each turn.
    """
    rows, window = draw(folds())
    changing = draw(st.integers(1, 8)) % len(rows)
    held = COUNTER.messages(rows[len(rows) - changing :])
    return rows, window, {"changing": changing, "budget": budget(window, fixed=3).holding(held)}


@PURE
@given(rewritten())
def test_no_layout_covers_a_row_that_changes_each_turn(fold):
    """
    A cut, a stub or a restated ask there would be worth nothing in the next turn.
    """
    rows, window, known = fold
    layout = asyncio.run(compact(rows, window, **known)).layout
    if layout is None:
        return

    assert layout.covered <= len(rows) - known["changing"]


@PURE
@given(rewritten())
def test_rows_that_change_each_turn_do_not_stand_in_the_way(fold):
    """
    What can fit fits with them, too, and keeps the rules.
    """
    rows, window, known = fold
    best = made(rows, window, **known)
    planned = rows if best is None or best.layout is None else sent(best.layout, rows)

    validate(planned, rows)
    assert introduced(rows, planned) == {}
    assert 3 + COUNTER.messages(planned) <= window - min(4_096, window // 10)
