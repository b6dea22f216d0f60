import pytest

from proxy.compaction.handover import wrap
from proxy.errors import SummaryError
from proxy.summaries.guards import SummaryAnswer
from proxy.summaries.llm import LlmOptions, LlmSummarizer
from tests.support.summaries import GOOD, Counter, FakeModel, assistant, call, count, job, result, text_of_prompt, user

ROWS = [
    user("Repair the importer."),
    call("read_file", path="src/load.py"),
    result("row = 5\n" * 200),
    assistant("Repaired."),
]


def summarizer(fake: FakeModel, /, **options) -> LlmSummarizer:
    return LlmSummarizer(fake, Counter(), LlmOptions(**options))


async def test_returns_what_the_model_wrote():
    """The answer is the summary, with what it cost."""
    model = FakeModel()
    summary = await summarizer(model).summarize(job(ROWS, 800))

    assert summary.text.startswith(GOOD.splitlines()[0])
    assert (summary.calls, summary.degraded) == (1, False)
    assert summary.prompt_tokens == count(text_of_prompt(model.asked[0]))


async def test_folds_only_the_fresh_turns():
    """With a previous summary the model reads that and the new turns, nothing twice."""
    model = FakeModel()
    fresh = [user("Now the exporter."), assistant("Looked at.")]
    await summarizer(model).summarize(job([*ROWS, *fresh], 800, fresh=fresh, previous="## Goal\nRepair it."))

    asked = text_of_prompt(model.asked[0])
    assert "Repair it." in asked
    assert "Now the exporter." in asked
    assert "row = 5" not in asked


async def test_previous_summary_is_unwrapped():
    """A prefix never reaches the prompt, so that it cannot stack."""
    model = FakeModel()
    await summarizer(model).summarize(job(ROWS, 800, previous=wrap("## Goal\nRepair it.")))

    assert "not orders" not in text_of_prompt(model.asked[0])


async def test_tries_the_requests_own_model_once():
    """When the summary model fails the request's own is asked, and the failure is recorded."""
    model = FakeModel("", GOOD)
    summary = await summarizer(model, model="small", own_model="large").summarize(job(ROWS, 800))

    assert [prompt.model for prompt in model.asked] == ["small", "large"]
    assert summary.failures == ("empty",)


async def test_gives_up_after_the_own_model():
    """Two failures are an error with the reason of the last."""
    model = FakeModel("", SummaryAnswer(GOOD, "length"))

    with pytest.raises(SummaryError, match="length"):
        await summarizer(model, model="small", own_model="large").summarize(job(ROWS, 800))


async def test_does_not_ask_the_same_model_twice():
    """Where the own model is the summary model there is no second try."""
    model = FakeModel("")

    with pytest.raises(SummaryError, match="empty"):
        await summarizer(model, model="large", own_model="large").summarize(job(ROWS, 800))
    assert len(model.asked) == 1


async def test_a_failing_transport_counts_as_a_failure():
    """Errors of the caller's transport take the same way."""
    model = FakeModel(SummaryError("timeout", transient=True), GOOD)
    summary = await summarizer(model, model="small", own_model="large").summarize(job(ROWS, 800))

    assert summary.failures == ("timeout",)


async def test_reads_a_long_history_in_chunks():
    """What does not fit one prompt is read in several, each answer folded into the next."""
    rows = [user(f"Fact {n}: " + "x y " * 60) for n in range(60)]
    model = FakeModel()
    summary = await summarizer(model, input_tokens=2_600, max_calls=4).summarize(job(rows, 150))

    assert 1 < summary.calls <= 4
    assert all(count(text_of_prompt(prompt)) <= 2_600 for prompt in model.asked)
    assert GOOD.splitlines()[2] in text_of_prompt(model.asked[1])
    assert "Fact 59:" in text_of_prompt(model.asked[-1])


async def test_reduces_a_huge_history_by_extract():
    """More than the calls allow is reduced first and read in one."""
    rows = [user(f"Fact {n}: the limit of pump_{n} is {n * 31} bar. " + "x y " * 80) for n in range(400)]
    model = FakeModel()
    summary = await summarizer(model, input_tokens=3_000, max_calls=2).summarize(job(rows, 300))

    assert summary.calls == 1
    assert count(text_of_prompt(model.asked[0])) <= 3_000


async def test_never_makes_more_calls_than_allowed():
    """Not with a second model either."""
    rows = [user(f"Fact {n}: " + "x y " * 60) for n in range(60)]
    model = FakeModel(GOOD, "")

    with pytest.raises(SummaryError):
        await summarizer(model, input_tokens=2_600, max_calls=3, model="a", own_model="b").summarize(job(rows, 150))
    assert len(model.asked) <= 3


async def test_secrets_do_not_reach_the_model():
    """Masked in the record, and in what comes back."""
    model = FakeModel(GOOD + "\n- Secret: API_KEY=zx81zx81zx81 was set.")
    rows = [*ROWS, result("export API_KEY=zx81zx81zx81", "b")]
    summary = await summarizer(model).summarize(job(rows, 800))

    assert "zx81zx81" not in text_of_prompt(model.asked[0]) + summary.text


async def test_a_history_of_media_alone_is_still_asked_about():
    """A record is never empty."""
    model = FakeModel()
    rows = [{"role": "user", "content": ""}]
    await summarizer(model).summarize(job(rows, 800))

    assert "media without text" in text_of_prompt(model.asked[0])


async def test_small_windows_cost_few_tokens():
    """36 tool rounds of 2 KB on a window of 8,000, folded three times, stay under 17,000 prompt tokens."""
    model = FakeModel("## Progress\n" + "\n".join(f"- Step {n} was done in src/file_{n}.py." for n in range(40)))
    rows = [user("Repair the importer.")]
    spent, previous, covered = 0, None, 0
    for number in range(36):
        rows += [
            call("read_file", f"c{number}", path=f"src/m{number}.py"),
            result(f"line {number} of text\n" * 100, f"c{number}"),
        ]
        if number % 9 == 8:
            fresh = rows[covered:-4]
            covered = len(rows) - 4
            summary = await summarizer(model, input_tokens=7_000).summarize(
                job(rows[:covered], 800, fresh=fresh, previous=previous)
            )
            spent, previous = spent + summary.prompt_tokens, summary.text

    assert len(model.asked) == 4
    assert spent < 17_000
