from __future__ import annotations

from dataclasses import replace

import pytest

from proxy.pipeline.settings import RecoverySettings
from proxy.recovery.actions import Verdict
from proxy.recovery.attempt import Attempt, Outcome, Rung, Situation
from proxy.recovery.fault import Fault, Label
from tests.unit.recovery.ladder_support import climb, once, overflow, refuse

PAYLOAD = Fault(Label.PAYLOAD_TOO_LARGE, 413, "too large", unit="bytes")
TIER = Fault(Label.LONG_CONTEXT_TIER, 429, "extra usage")
RATE = Fault(Label.RATE_LIMIT, 429, "slow", rate_limit=30_000, total=90_000, shrink_helps=True)
CAP = Fault(Label.OUTPUT_CAP, 400, "too much", output_cap=8_000)
PAIRS = Fault(Label.INVALID_REQUEST_OTHER, 400, "pairs", structure=True)
BARE = Fault(Label.INVALID_REQUEST_OTHER, 400, "", known=False, confident=False)


def rungs(attempts: list[Attempt]) -> list[Rung]:
    return [attempt.rung for attempt in attempts]


def test_an_accepted_request_is_sent_once() -> None:
    """
    Without a refusal the ladder has one rung.
    """
    attempts, ending = climb(lambda _: Outcome())

    assert (rungs(attempts), ending.verdict) == ([Rung.AS_PLANNED], Verdict.ACCEPTED)


def test_climbs_from_gentle_to_hard_and_gives_up() -> None:
    """
    An overflow that nothing cures is tried four times, each harder, and ends as a give-up with the upstream's words.
    """
    attempts, ending = climb(refuse(overflow()))

    assert rungs(attempts) == [Rung.AS_PLANNED, Rung.COMPACT, Rung.SQUEEZE, Rung.HARD_FIT]
    assert [attempt.squeeze for attempt in attempts] == [0, 0, 1, 2]
    assert (ending.verdict, ending.fault and ending.fault.message) == (Verdict.GIVE_UP, "too long")


def test_steps_down_a_tier_when_no_number_is_stated() -> None:
    """
    Each refusal without a number goes to the next tier below what was refused.
    """
    attempts, _ = climb(refuse(overflow()))

    assert [attempt.window_tokens for attempt in attempts] == [None, 64_000, 32_000, 16_000]


def test_compacts_to_the_stated_window_in_our_tokens() -> None:
    """
    Their 100,000 of 80,000 is our 90,000 of 72,000.
    """
    attempts, ending = climb(once(overflow(limit=80_000, prompt=100_000), tokens=90_000))

    assert (attempts[1].window_tokens, ending.verdict) == (72_000, Verdict.ACCEPTED)


def test_lowers_max_tokens_first_where_it_alone_is_at_fault() -> None:
    """
    The prompt fits: what is left of the window becomes max_tokens, and nothing is compacted.
    """
    fault = overflow(limit=100_000, prompt=80_000, output=30_000, max_tokens_issue=True)
    attempts, ending = climb(once(fault), situation=Situation(128_000, asked_output=30_000))

    assert (attempts[1].rung, attempts[1].max_tokens, attempts[1].window_tokens) == (Rung.CLAMP, 19_744, None)
    assert ending.verdict is Verdict.ACCEPTED


def test_compacts_where_too_little_output_would_be_left() -> None:
    """
    An answer of a few tokens is worth nothing.
    """
    fault = overflow(limit=100_000, prompt=99_900, output=30_000, max_tokens_issue=True)
    attempts, _ = climb(once(fault), situation=Situation(128_000, asked_output=30_000))

    assert attempts[1].rung is Rung.COMPACT


def test_never_lowers_max_tokens_below_the_thinking_budget() -> None:
    """
    A provider refuses max_tokens that is not above the thinking budget.
    """
    fault = overflow(limit=100_000, prompt=90_000, output=30_000, max_tokens_issue=True)
    situation = Situation(128_000, asked_output=30_000, thinking_budget=20_000)
    attempts, _ = climb(refuse(fault), situation=situation)

    assert all(attempt.max_tokens is None or attempt.max_tokens > 20_000 for attempt in attempts)


def test_leaves_max_tokens_alone_where_the_settings_say_so() -> None:
    """
    ``clamp_max_tokens: false`` is strict.
    """
    fault = overflow(limit=100_000, prompt=80_000, output=30_000, max_tokens_issue=True)
    settings = RecoverySettings(clamp_max_tokens=False)
    attempts, _ = climb(refuse(fault), situation=Situation(128_000, asked_output=30_000), settings=settings)

    assert [attempt.max_tokens for attempt in attempts] == [None] * 4


def test_a_kept_clamp_goes_on_through_the_ladder() -> None:
    """
    What lowered max_tokens once stays lowered; the last try is the hard fit.
    """
    fault = overflow(limit=100_000, prompt=80_000, output=30_000, max_tokens_issue=True)
    attempts, _ = climb(refuse(fault), situation=Situation(128_000, asked_output=30_000))

    assert rungs(attempts) == [Rung.AS_PLANNED, Rung.CLAMP, Rung.COMPACT, Rung.HARD_FIT]
    assert all(attempt.max_tokens == 19_744 for attempt in attempts[1:])


def test_stops_at_the_deadline() -> None:
    """
    After the deadline no new attempt is made.
    """
    ticks = iter([0.0, 10.0, 301.0])
    attempts, ending = climb(refuse(overflow()), clock=lambda: next(ticks))

    assert (len(attempts), ending.verdict) == (2, Verdict.GIVE_UP)


def test_a_skipped_attempt_is_no_try_and_the_next_is_harder() -> None:
    """
    A plan that gains nothing is not sent; the squeeze keeps its number and its target.
    """

    def reply(attempt: Attempt) -> Outcome:
        if attempt.rung is Rung.COMPACT:
            return Outcome(skipped=True)
        return Outcome(overflow() if attempt.number == 1 else None, 100_000, 400_000)

    attempts, ending = climb(reply)

    assert rungs(attempts) == [Rung.AS_PLANNED, Rung.COMPACT, Rung.SQUEEZE]
    assert attempts[1].number == attempts[2].number == 2
    assert attempts[1].window_tokens == attempts[2].window_tokens
    assert ending.verdict is Verdict.ACCEPTED


def test_gives_up_when_even_the_hard_fit_is_skipped() -> None:
    """
    Nothing can be made smaller: the refusal that was met is the answer.
    """
    attempts, ending = climb(
        lambda attempt: Outcome(overflow(), 100_000, 400_000) if attempt.number == 1 else Outcome(skipped=True)
    )

    assert rungs(attempts)[-1] is Rung.HARD_FIT
    assert ending.verdict is Verdict.GIVE_UP


def test_tells_what_a_plan_may_weigh_in_the_unit_that_failed() -> None:
    """
    Five percent less tokens for an overflow, five percent less bytes for a 413.
    """
    tokens, _ = climb(once(overflow()))
    size, _ = climb(once(PAYLOAD))

    assert (tokens[1].ceiling_tokens, tokens[1].ceiling_bytes) == (95_000, None)
    assert (size[1].ceiling_tokens, size[1].ceiling_bytes) == (None, 380_000)


def test_a_413_halves_the_bytes_and_steps_down_where_no_limit_is_known() -> None:
    """
    Bytes come first, and the tier goes down with them.
    """
    attempts, _ = climb(once(PAYLOAD))

    assert (attempts[1].byte_budget, attempts[1].window_tokens) == (200_000, 64_000)


def test_a_413_with_a_stated_limit_leaves_the_window_alone() -> None:
    """
    A known number of bytes is all that has to be kept.
    """
    fault = Fault(Label.PAYLOAD_TOO_LARGE, 413, unit="bytes", byte_limit=300_000)
    attempts, _ = climb(once(fault))

    assert (attempts[1].byte_budget, attempts[1].window_tokens) == (300_000, None)


def test_a_413_uses_the_configured_body_size() -> None:
    """
    ``max_body`` of the upstream is the budget where the answer states none.
    """
    attempts, _ = climb(once(PAYLOAD), situation=Situation(128_000, max_body=350_000))

    assert attempts[1].byte_budget == 350_000


def test_a_413_that_nothing_cures_gives_up() -> None:
    """
    SDKs send a 413 once, but a client that knows overflows can act on a context_length_exceeded.
    """
    assert climb(refuse(PAYLOAD))[1].verdict is Verdict.GIVE_UP


def test_leaves_the_long_context_tier_once() -> None:
    """
    "Extra usage" with a 429: 200,000 tokens, one retry, then the answer passes.
    """
    attempts, ending = climb(refuse(TIER, tokens=400_000), situation=Situation(1_000_000))

    assert [attempt.window_tokens for attempt in attempts] == [None, 200_000]
    assert ending.verdict is Verdict.PASS


def test_the_400_form_of_the_long_context_beta_passes() -> None:
    """
    It asks for another header, not for a shorter prompt.
    """
    fault = Fault(Label.LONG_CONTEXT_TIER, 400)

    assert len(climb(refuse(fault, tokens=400_000))[0]) == 1


def test_a_short_prompt_never_leaves_the_long_context_tier() -> None:
    """
    A prompt far below 200,000 was not refused for its length.
    """
    assert len(climb(refuse(TIER, tokens=20_000))[0]) == 1


def test_shrinks_below_a_rate_limit_that_no_waiting_cures() -> None:
    """
    Limit 30,000 less the asked output, in our tokens.
    """
    attempts, _ = climb(once(RATE, tokens=80_000), situation=Situation(128_000, asked_output=10_000))

    assert attempts[1].window_tokens == 20_000


def test_a_rate_limit_passes_where_waiting_cures_it() -> None:
    """
    The client has its own back-off.
    """
    _, ending = climb(refuse(Fault(Label.RATE_LIMIT, 429, rate_limit=30_000, total=10_000)))

    assert ending.verdict is Verdict.PASS


def test_a_rate_limit_passes_where_the_settings_say_so() -> None:
    """
    ``shrink_for_rate_limits: false``.
    """
    attempts, _ = climb(refuse(RATE), settings=RecoverySettings(shrink_for_rate_limits=False))

    assert len(attempts) == 1


def test_lowers_max_tokens_to_a_stated_cap_once() -> None:
    """
    Once, and then the answer passes.
    """
    attempts, ending = climb(refuse(CAP), situation=Situation(128_000, asked_output=32_000))

    assert [attempt.max_tokens for attempt in attempts] == [None, 8_000]
    assert ending.verdict is Verdict.PASS


@pytest.mark.parametrize("asked", [None, 4_000])
def test_an_output_cap_passes_where_max_tokens_is_not_above_it(asked: int | None) -> None:
    """
    Without a max_tokens of the request there is nothing to lower.
    """
    assert len(climb(refuse(CAP), situation=Situation(128_000, asked_output=asked))[0]) == 1


def test_repairs_our_own_illegal_plan_once() -> None:
    """
    A complaint about pairs in a request that we rewrote: strict roles, one retry.
    """
    attempts, ending = climb(refuse(PAIRS, rewritten=True))

    assert [attempt.strict_roles for attempt in attempts] == [False, True]
    assert ending.verdict is Verdict.PASS


def test_a_clients_own_structure_fault_passes() -> None:
    """
    What the client sent is not ours to mend.
    """
    assert len(climb(refuse(PAIRS))[0]) == 1


def test_an_illegal_plan_after_an_overflow_ends_as_the_overflow() -> None:
    """
    The client never sent the rows that the last answer complains about.
    """

    def reply(attempt: Attempt) -> Outcome:
        fault = overflow() if attempt.number == 1 else PAIRS
        return Outcome(fault, 100_000 // attempt.number, 400_000, rewritten=attempt.number > 1)

    _, ending = climb(reply)

    assert (ending.verdict, ending.fault) == (Verdict.GIVE_UP, overflow())


def test_a_repaired_plan_stays_strict() -> None:
    """
    The roles that were learned on the way down are kept.
    """

    def reply(attempt: Attempt) -> Outcome:
        fault = {1: overflow(), 2: PAIRS, 3: overflow()}.get(attempt.number)
        return Outcome(fault, 100_000 // attempt.number, 400_000, rewritten=attempt.number > 1)

    attempts, _ = climb(reply)

    assert [attempt.strict_roles for attempt in attempts] == [False, False, True, True]


def test_a_refusal_without_a_reason_is_tried_once_when_the_prompt_is_large() -> None:
    """
    At 80 % of the window a bare 400 is taken for an overflow, for one try; then it passes as it is.
    """
    attempts, ending = climb(refuse(BARE, tokens=110_000))

    assert rungs(attempts) == [Rung.AS_PLANNED, Rung.COMPACT]
    assert ending.verdict is Verdict.PASS


def test_a_refusal_without_a_reason_passes_when_the_prompt_is_small() -> None:
    """
    A small prompt was refused for something else.
    """
    assert len(climb(refuse(BARE, tokens=20_000))[0]) == 1


@pytest.mark.parametrize(
    "label",
    [Label.AUTH, Label.BILLING_QUOTA, Label.CONTENT_FILTER, Label.OVERLOADED_5XX, Label.IMAGE_TOO_LARGE, Label.OTHER],
)
def test_what_size_does_not_cure_passes(label: Label) -> None:
    """
    No retry, the upstream's own answer.
    """
    attempts, ending = climb(refuse(Fault(label, 400)))

    assert (len(attempts), ending.verdict) == (1, Verdict.PASS)


def test_another_refusal_on_the_way_down_passes() -> None:
    """
    An overflow and then a rate limit: the client gets the rate limit and its Retry-After.
    """

    def reply(attempt: Attempt) -> Outcome:
        return Outcome(overflow() if attempt.number == 1 else Fault(Label.RATE_LIMIT, 429), 50_000, 200_000)

    _, ending = climb(reply)

    assert (ending.verdict, ending.fault and ending.fault.label) == (Verdict.PASS, Label.RATE_LIMIT)


def test_two_tries_are_enough_when_the_settings_say_so() -> None:
    """
    ``max_attempts`` counts upstream tries, the first included.
    """
    assert len(climb(refuse(overflow()), settings=RecoverySettings(max_attempts=2))[0]) == 2


OTPM = Fault(Label.RATE_LIMIT, 429, "too much", rate_limit=8_000, output_rate=True)
TPM = Fault(Label.RATE_LIMIT, 429, "too much", rate_limit=30_000, total=40_000, shrink_helps=True)


class TestOutputAtFaultForARate:
    """
    Where a rate limit is smaller than the asked output, asking for less cures it.
    """

    def test_a_limit_on_output_tokens_lowers_the_output(self) -> None:
        """
        The prompt is not counted, so nothing is compacted.
        """
        attempts, ending = climb(once(OTPM), situation=Situation(128_000, asked_output=20_000))

        assert [(a.rung, a.max_tokens) for a in attempts[1:]] == [(Rung.CLAMP, 8_000)]
        assert ending.verdict is Verdict.ACCEPTED

    @pytest.mark.parametrize("asked", [None, 4_000, 8_000])
    def test_an_output_within_the_limit_waits(self, asked: int | None) -> None:
        """
        A minute that is used up passes with its Retry-After.
        """
        attempts, ending = climb(refuse(OTPM), situation=Situation(128_000, asked_output=asked))

        assert (len(attempts), ending.verdict) == (1, Verdict.PASS)

    def test_never_below_the_thinking_budget(self) -> None:
        """
        Some providers refuse a max_tokens below it.
        """
        attempts, _ = climb(refuse(OTPM), situation=Situation(128_000, asked_output=20_000, thinking_budget=8_000))

        assert len(attempts) == 1

    def test_a_limit_on_all_tokens_lowers_the_output_first(self) -> None:
        """
        8,000 of prompt and 32,000 of output against 30,000: the prompt is fine.
        """
        attempts, _ = climb(once(TPM, tokens=8_000), situation=Situation(128_000, asked_output=32_000))

        assert [a.rung for a in attempts[1:]] == [Rung.CLAMP]
        assert 21_000 < (attempts[1].max_tokens or 0) < 22_000

    def test_a_large_prompt_with_a_large_output_gives_way_in_both(self) -> None:
        """
        29,900 of prompt and 32,000 of output against 30,000: neither alone helps.
        """
        fault = Fault(Label.RATE_LIMIT, 429, "too much", rate_limit=30_000, total=61_900, shrink_helps=True)
        attempts, _ = climb(once(fault, tokens=29_900), situation=Situation(128_000, asked_output=32_000))

        assert (attempts[1].rung, attempts[1].max_tokens) == (Rung.COMPACT, 7_500)
        assert (attempts[1].window_tokens or 0) <= 22_500

    def test_it_can_be_switched_off(self) -> None:
        """
        clamp_max_tokens is for rates, too.
        """
        settings = RecoverySettings(clamp_max_tokens=False)
        attempts, _ = climb(refuse(OTPM), situation=Situation(128_000, asked_output=20_000), settings=settings)

        assert len(attempts) == 1


class TestLastTry:
    """
    Where nobody stated a number, the last try is as small as it can be.
    """

    SITUATION = Situation(128_000, least_window=2_000, least_bytes=300_000)

    def test_aims_at_the_least_window(self) -> None:
        """
        Rather than at one tier more and then at giving up.
        """
        attempts, _ = climb(refuse(overflow()), situation=self.SITUATION)

        assert [a.window_tokens for a in attempts[1:]] == [64_000, 32_000, 2_000]

    def test_not_below_what_was_accepted(self) -> None:
        """
        What passed once passes again.
        """
        situation = replace(self.SITUATION, largest_accepted=9_000)
        attempts, _ = climb(refuse(overflow()), situation=situation)

        assert attempts[-1].window_tokens == 9_000

    def test_a_stated_number_is_kept_to(self) -> None:
        """
        Nothing is thrown away that the upstream has room for.
        """
        attempts, _ = climb(refuse(overflow(limit=30_000, prompt=100_000)), situation=self.SITUATION)

        assert min(a.window_tokens or 10**9 for a in attempts) > 2_000

    def test_aims_below_the_common_megabyte(self) -> None:
        """
        60 MB before a web server's default: halving alone would end at 7.5 MB.
        """
        fault = Fault(Label.PAYLOAD_TOO_LARGE, 413, "too large", unit="bytes")
        attempts, _ = climb(refuse(fault, size=60_000_000), situation=self.SITUATION)

        assert attempts[-1].byte_budget == 950_000


EMPTY = Fault(Label.OTHER, None, "empty", known=False, empty_stream=True, confident=False)


@pytest.mark.parametrize(("tokens", "tries"), [(9_000, 2), (3_000, 1)])
def test_an_empty_stream_of_an_unknown_window_is_tried_once(tokens: int, tries: int) -> None:
    """
    A default says nothing of a small server; what is near its smallest window may be an overflow.
    """
    attempts, _ = climb(refuse(EMPTY, tokens=tokens), situation=Situation(128_000, window_known=False))

    assert len(attempts) == tries


def test_a_small_gain_that_is_a_cure_is_worth_sending() -> None:
    """
    100 tokens over a stated window: a plan just inside it gains little and helps.
    """
    fault = overflow(limit=8_000, prompt=8_100)
    attempts, _ = climb(once(fault, tokens=8_100), situation=Situation(128_000))

    assert attempts[1].worth_sending(tokens=7_950, size=0)
    assert not attempts[1].worth_sending(tokens=8_050, size=0)


def test_a_small_gain_towards_a_guess_is_not() -> None:
    """
    Without a number nobody knows whether it helps.
    """
    attempts, _ = climb(once(overflow(), tokens=8_100), situation=Situation(128_000))

    assert not attempts[1].worth_sending(tokens=7_950, size=0)


def test_a_clamp_that_changes_nothing_gives_way_to_a_compaction() -> None:
    """
    The output was lowered before; what is left is the history.
    """
    fault = overflow(limit=8_000, prompt=6_000, output=4_000, max_tokens_issue=True)

    def reply(attempt: Attempt) -> Outcome:
        if attempt.rung is Rung.CLAMP:
            return Outcome(skipped=True)
        return Outcome(fault if attempt.number == 1 else None, 6_000, 24_000)

    attempts, ending = climb(reply, situation=Situation(128_000, asked_output=4_000))

    assert rungs(attempts) == [Rung.AS_PLANNED, Rung.CLAMP, Rung.COMPACT]
    assert ending.verdict is Verdict.ACCEPTED
