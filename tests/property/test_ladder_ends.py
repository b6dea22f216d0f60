"""
The ladder and the engine together, against an upstream that refuses what does not fit: any conversation, any window that
can hold system, tools and the last ask, whatever the upstream says and however it counts.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from proxy.chat.json import dumps
from proxy.chat.messages import leading_system_rows
from proxy.compaction.layout import Layout
from proxy.compaction.validate import validate
from proxy.engines.base import POSTURES
from proxy.engines.compressor import Compressor
from proxy.pipeline.floor import FRAME, least_tokens, least_window
from proxy.pipeline.settings import RecoverySettings
from proxy.recovery.actions import Verdict
from proxy.recovery.attempt import Attempt, Ending, Outcome, Situation
from proxy.recovery.classify import classify
from proxy.recovery.ladder import recovery_ladder, resume
from proxy.simulator.rules import introduced
from tests.property.strategies import conversations
from tests.support.conversations import assistant, filler, user
from tests.support.folding import COUNTER, Scribe, sent, task

Row = dict[str, Any]
EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "20"))
PURE = settings(max_examples=EXAMPLES, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
SLACK = 1.3
"""What a row takes beside its text, and the reserve."""


@dataclass
class Upstream:
    """
    Refuses prompts above *window* of its own tokens (*ratio* of ours), with or without saying the number.
    """

    window: int
    ratio: float
    states: bool
    received: list[tuple[int, bytes]] = field(default_factory=list)

    def answer(self, rows: Sequence[Row]) -> bytes | None:
        tokens = int((3 + COUNTER.messages(rows)) * self.ratio)
        self.received.append((tokens, dumps(list(rows))))
        if tokens <= self.window:
            return None
        if not self.states:
            return b'{"error":{"message":"Input is too long for requested model."}}'
        return dumps({"error": {"message": f"prompt is too long: {tokens} tokens > {self.window} maximum"}})


@dataclass(frozen=True)
class Climbed:
    """
    What came of it: the *ending*, the rows of the last try, and all that the upstream received.
    """

    ending: Ending
    rows: Sequence[Row]
    received: Sequence[tuple[int, bytes]]


def climb(rows: Sequence[Row], upstream: Upstream, *, believed: int) -> Climbed:
    """
    Drive the ladder as the pipeline does, with the engine's passes for plans.
    """
    least = least_window(least_tokens(rows, fixed=0, counter=COUNTER), None)
    situation = Situation(window_tokens=believed, least_window=least)
    ladder = recovery_ladder(situation, settings=RecoverySettings(), clock=lambda: 0.0)
    step: Attempt | Ending = next(ladder)
    current: Sequence[Row] = rows
    layout: Layout | None = None
    while isinstance(step, Attempt):
        if step.number > 1:
            made = asyncio.run(_planned(rows, layout, step))
            if made is None:
                step = resume(ladder, Outcome(skipped=True))
                continue
            layout, current = made, sent(made, rows)
        tokens = 3 + COUNTER.messages(current)
        refusal = upstream.answer(current)
        fault = None if refusal is None else classify(400, refusal)
        step = resume(ladder, Outcome(fault, sent_tokens=tokens, sent_bytes=len(dumps(current)), rewritten=True))
    return Climbed(step, current, upstream.received)


async def _planned(rows: Sequence[Row], layout: Layout | None, attempt: Attempt) -> Layout | None:
    best = None
    for posture in POSTURES[attempt.squeeze :]:
        job = task(rows, attempt.window_tokens or 10**9, previous=layout, posture=posture)
        made = await Compressor(COUNTER).compact(job, summarize=Scribe())
        if made.layout is None:
            continue
        layout = best = made.layout
        if made.report.fits:
            break
    gains = best is not None and attempt.worth_sending(tokens=3 + COUNTER.messages(sent(best, rows)), size=0)
    return best if gains else None


@st.composite
def climbs(draw: st.DrawFn) -> tuple[list[Row], Upstream]:
    rows = draw(conversations())
    leading = leading_system_rows(rows)
    old = [
        row
        for n in range(draw(st.integers(0, 25)))
        for row in (user(filler(900, seed=f"u{n}")), assistant(filler(900, seed=f"a{n}")))
    ]
    rows = [*rows[:leading], *old, *rows[leading:]]
    ratio = draw(st.sampled_from([0.8, 1.0, 1.4]))
    least = least_window(int(least_tokens(rows, fixed=0, counter=COUNTER) * SLACK) + FRAME, None)
    window = int(least * ratio * draw(st.sampled_from([1.0, 1.0, 1.5, 3.0])))
    return rows, Upstream(window, ratio, draw(st.booleans()))


@PURE
@given(climbs(), st.sampled_from([8_000, 128_000, 1_000_000]))
def test_ends_in_a_legal_request_that_fits(case: tuple[list[Row], Upstream], believed: int) -> None:
    """
    Within four tries, and each try is smaller than the one before.
    """
    rows, upstream = case
    climbed = climb(rows, upstream, believed=believed)
    sizes = [tokens for tokens, _ in climbed.received]

    assert climbed.ending.verdict is Verdict.ACCEPTED
    assert len(sizes) <= 4
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes)
    validate(climbed.rows, rows, strict=False)
    assert introduced(rows, list(climbed.rows)) == {}


@PURE
@given(climbs())
def test_the_same_case_ends_in_the_same_bytes(case: tuple[list[Row], Upstream]) -> None:
    """
    Nothing but the request and the answers decides.
    """
    rows, upstream = case
    again = Upstream(upstream.window, upstream.ratio, upstream.states)

    assert climb(rows, upstream, believed=128_000).received == climb(rows, again, believed=128_000).received
