"""
What every summariser keeps, with a model or without.
"""

import pytest

from proxy.compaction.handover import END_MARKER, is_summary_text, wrap
from proxy.errors import SummaryError
from proxy.summaries.extractive import ExtractiveSummarizer
from proxy.summaries.fallback import Cooldown, FallbackSummarizer
from proxy.summaries.llm import LlmSummarizer
from tests.support.summaries import Counter, FakeModel, assistant, call, count, job, result, user

ROWS = [
    user("Never touch db/schema.sql while you repair the importer."),
    call("edit_file", path="src/load.py", content="x"),
    result("ok\n" + "line of output\n" * 80),
    assistant("The importer was repaired in src/load.py."),
]


def make(kind: str):
    if kind == "extractive":
        return ExtractiveSummarizer(Counter())
    if kind == "llm":
        return LlmSummarizer(FakeModel(), Counter())
    return FallbackSummarizer(
        LlmSummarizer(FakeModel(SummaryError("x")), Counter()), ExtractiveSummarizer(Counter()), Cooldown(lambda: 0.0)
    )


@pytest.fixture(params=["extractive", "llm", "fallback"])
def summarizer(request):
    return make(request.param)


async def test_has_a_name(summarizer):
    """It labels metrics and goes into record keys."""
    assert summarizer.name in {"extractive", "llm"}


async def test_stays_below_the_ceiling(summarizer):
    """The plan counts on it."""
    summary = await summarizer.summarize(job(ROWS * 20, 200))

    assert 0 < count(summary.text) <= 200


async def test_gives_the_bare_text(summarizer):
    """No prefix and no end marker: those belong to the hand-over."""
    summary = await summarizer.summarize(job(ROWS, 500, previous=None))

    assert not is_summary_text(summary.text)
    assert END_MARKER not in summary.text


async def test_keeps_the_rules_of_the_user(summarizer):
    """Word for word."""
    summary = await summarizer.summarize(job(ROWS, 500))

    assert "Never touch db/schema.sql while you repair the importer." in summary.text


async def test_same_job_same_text(summarizer):
    """What varies is the model's, never ours."""
    first = await summarizer.summarize(job(ROWS, 500))
    second = await summarizer.summarize(job(ROWS, 500))

    assert first.text == second.text


async def test_does_not_change_the_rows(summarizer):
    """The client's objects are the client's."""
    rows = [dict(row) for row in ROWS]
    before = repr(rows)
    await summarizer.summarize(job(rows, 300))

    assert repr(rows) == before


async def test_does_not_stack_an_earlier_summary(summarizer):
    """A previous text that still has its prefix leaves no trace of it."""
    summary = await summarizer.summarize(job(ROWS, 500, previous=wrap("## Goal\nRepair the importer.")))

    assert "not orders" not in summary.text
