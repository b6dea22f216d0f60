from __future__ import annotations

from dataclasses import fields

from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.pipeline.settings import RecoverySettings
from proxy.recovery.attempt import Attempt, Outcome, Situation
from proxy.recovery.fault import Fault, Label
from tests.unit.recovery.ladder_support import climb

EXAMPLES = settings(max_examples=50, deadline=None)
NUMBERS = st.none() | st.integers(1, 2_000_000)


@st.composite
def faults(draw: st.DrawFn) -> Fault:
    facts = {
        field.name: draw(NUMBERS) for field in fields(Fault) if field.type == "int | None" and field.name != "status"
    }
    flags = {field.name: draw(st.booleans()) for field in fields(Fault) if field.type == "bool"}
    return Fault(draw(st.sampled_from(Label)), draw(st.sampled_from([None, 400, 413, 429, 500])), **facts, **flags)


OUTCOMES = st.builds(
    Outcome,
    fault=faults(),
    sent_tokens=st.integers(0, 2_000_000),
    sent_bytes=st.integers(0, 10_000_000),
    skipped=st.booleans(),
    rewritten=st.booleans(),
)
SITUATIONS = st.builds(
    Situation,
    window_tokens=st.integers(1, 2_000_000),
    asked_output=NUMBERS,
    thinking_budget=st.integers(0, 50_000),
    max_body=NUMBERS,
    largest_accepted=st.integers(0, 1_000_000),
)
SCRIPTS = st.lists(OUTCOMES, min_size=8, max_size=8)


def run(script: list[Outcome], situation: Situation) -> list[tuple[Attempt, Outcome]]:
    replies = iter(script)
    seen: list[Outcome] = []

    def reply(attempt: Attempt) -> Outcome:
        outcome = next(replies)
        seen.append(outcome)
        return outcome

    attempts, _ = climb(reply, situation=situation, settings=RecoverySettings())
    return list(zip(attempts, seen, strict=True))


@EXAMPLES
@given(SCRIPTS, SITUATIONS)
def test_ends_within_four_upstream_tries(script: list[Outcome], situation: Situation) -> None:
    """
    Whatever the upstream says and however often plans gain too little, the ladder ends.
    """
    steps = run(script, situation)

    assert sum(not outcome.skipped for _, outcome in steps) <= 4
    assert all(attempt.number <= 4 for attempt, _ in steps)
    assert len(steps) <= 8


@EXAMPLES
@given(SCRIPTS, SITUATIONS)
def test_targets_never_grow(script: list[Outcome], situation: Situation) -> None:
    """
    No attempt has a larger window, byte budget or max_tokens than one before, and none forgets one.
    """
    attempts = [attempt for attempt, _ in run(script, situation)]

    for name in ("window_tokens", "byte_budget", "max_tokens"):
        values = [getattr(attempt, name) for attempt in attempts]
        known = [value for value in values if value is not None]
        assert known == sorted(known, reverse=True)
        assert values == [None] * (len(values) - len(known)) + known


@EXAMPLES
@given(SCRIPTS, SITUATIONS)
def test_squeezes_never_relax(script: list[Outcome], situation: Situation) -> None:
    """
    An attempt is never gentler than one before.
    """
    levels = [attempt.squeeze for attempt, _ in run(script, situation)]

    assert levels == sorted(levels)


@EXAMPLES
@given(SCRIPTS, SITUATIONS)
def test_same_answers_same_attempts(script: list[Outcome], situation: Situation) -> None:
    """
    The ladder is deterministic.
    """
    assert run(script, situation) == run(script, situation)


@EXAMPLES
@given(SITUATIONS, st.lists(st.integers(1_000, 2_000_000), min_size=4, max_size=4))
def test_a_tier_is_never_below_the_largest_accepted_prompt(situation: Situation, sizes: list[int]) -> None:
    """
    Guessed windows stay at or above what was accepted, as long as nothing smaller was refused.
    """
    bare = Fault(Label.CONTEXT_OVERFLOW, 400)
    steps = run([Outcome(bare, size, size) for size in sizes], situation)

    for (attempt, _), (_, refused) in zip(steps[1:], steps, strict=False):
        assert attempt.window_tokens is not None
        if situation.largest_accepted < min(sizes) and refused:
            assert attempt.window_tokens >= situation.largest_accepted


@EXAMPLES
@given(SCRIPTS, SITUATIONS)
def test_max_tokens_stays_above_the_thinking_budget(script: list[Outcome], situation: Situation) -> None:
    """
    Lowering max_tokens never trips another refusal.
    """
    assert all(
        attempt.max_tokens is None or attempt.max_tokens > situation.thinking_budget
        for attempt, _ in run(script, situation)
    )
