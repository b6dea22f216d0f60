import pytest

from proxy.errors import SummaryError
from proxy.summaries.base import Summarizer, Summary
from proxy.summaries.fallback import MOST_RESTS, Cooldown, Cooldowns, FallbackSummarizer
from tests.support.summaries import job, user

JOB = job([user("hello")])


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Scripted(Summarizer):
    name = "scripted"

    def __init__(self, *results: Summary | SummaryError) -> None:
        self.results = list(results)
        self.calls = 0

    async def summarize(self, job):
        self.calls += 1
        result = self.results[min(self.calls, len(self.results)) - 1]
        if isinstance(result, SummaryError):
            raise result
        return result


async def test_a_good_summary_passes():
    """Nothing is marked while all is well."""
    both = FallbackSummarizer(Scripted(Summary("good")), Scripted(Summary("plain")), Cooldown(Clock()))

    assert await both.summarize(JOB) == Summary("good")


async def test_the_fallback_is_marked_degraded():
    """The reason of the failure is kept."""
    both = FallbackSummarizer(Scripted(SummaryError("refusal")), Scripted(Summary("plain")), Cooldown(Clock()))

    assert await both.summarize(JOB) == Summary("plain", degraded=True, failures=("refusal",))


@pytest.mark.parametrize(("transient", "rest"), [(False, 600), (True, 60)])
async def test_rests_after_a_failure(transient, rest):
    """The model is left alone for a while, shorter for kinds that pass."""
    clock = Clock()
    primary = Scripted(SummaryError("x", transient=transient), Summary("good"))
    both = FallbackSummarizer(primary, Scripted(Summary("plain")), Cooldown(clock))
    await both.summarize(JOB)
    clock.now += rest - 1
    during = await both.summarize(JOB)
    clock.now += 1
    after = await both.summarize(JOB)

    assert during == Summary("plain", degraded=True, failures=("cooldown",))
    assert after == Summary("good")
    assert primary.calls == 2


def test_a_short_rest_does_not_end_a_long_one():
    """A transient failure during a rest changes nothing."""
    clock = Clock()
    cooldown = Cooldown(clock)
    cooldown.start(transient=False)
    cooldown.start(transient=True)
    clock.now += 120

    assert cooldown.active


def test_rests_are_kept_apart():
    """A failure on one route never silences another."""
    cooldowns = Cooldowns(Clock())
    cooldowns.of("llm", "coding").start(transient=False)

    assert cooldowns.of("llm", "coding").active
    assert not cooldowns.of("llm", "local").active


async def test_an_error_of_the_fallback_is_raised():
    """There is nothing behind it."""
    both = FallbackSummarizer(Scripted(SummaryError("a")), Scripted(SummaryError("b")), Cooldown(Clock()))

    with pytest.raises(SummaryError, match="b"):
        await both.summarize(JOB)


def test_names_that_clients_make_up_do_not_fill_the_memory():
    """Rests belong to models and credentials, both chosen by clients: the ones asked for last are remembered."""
    cooldowns = Cooldowns(Clock())
    resting = cooldowns.of("route", "kept")
    resting.start(transient=False)
    forgotten = cooldowns.of("route", "first")
    for number in range(MOST_RESTS - 1):
        cooldowns.of("route", f"model-{number}")
        assert cooldowns.of("route", "kept") is resting

    assert cooldowns.of("route", "first") is not forgotten
