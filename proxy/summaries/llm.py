"""
The summariser that asks a model: bounds what it reads, checks what it answers, grounds it in the source.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from proxy.chat.language import language_of
from proxy.compaction.handover import unwrap
from proxy.errors import SummaryError
from proxy.summaries.base import Summarizer, Summary, SummaryJob
from proxy.summaries.bounding import Bounds, Record
from proxy.summaries.guards import SummaryAnswer, accept
from proxy.summaries.keeping import notes_within
from proxy.summaries.ledger.extract import NOTES_SHARE
from proxy.summaries.prompt import SummaryPrompt, Task, build_messages
from proxy.summaries.work import InlineWork, SummaryWork, TextCounter

Ask = Callable[[SummaryPrompt], Awaitable[SummaryAnswer]]

_WORDS_PER_TOKEN = {"zh": 1.1, "ja": 0.9, "ko": 0.6}
_LATIN_WORDS = 0.65
_LEAST_WORDS = 60


@dataclass(frozen=True, slots=True)
class LlmOptions:
    """
    How the model is asked: *input_tokens* is what one prompt may hold (its window less the answer), *own_model* the
    request's own, tried once when *model* fails.
    """

    input_tokens: int = 100_000
    model: str | None = None
    own_model: str | None = None
    max_calls: int = 4
    instructions: str | None = None


@dataclass(slots=True)
class _Spent:
    """
    What the calls of one summary have cost so far; made and used within one call.
    """

    calls: int = 0
    prompt_tokens: int = 0
    failures: list[str] = field(default_factory=list)


class LlmSummarizer(Summarizer):
    """
    Asks a model through *ask*, which does the transport elsewhere.
    """

    name = "llm"

    def __init__(
        self, ask: Ask, counter: TextCounter, options: LlmOptions | None = None, *, work: SummaryWork | None = None
    ) -> None:
        self._ask = ask
        self._options = options or LlmOptions()
        self._count = counter.text
        self._work = work or InlineWork(counter)

    async def summarize(self, job: SummaryJob) -> Summary:
        """
        Return a grounded summary. Raises ``SummaryError`` when neither the model nor the request's own gives one.
        """
        inner = unwrap(job.previous or "")
        job = job if inner is None else replace(job, previous=inner)
        job = replace(job, notes=notes_within(job.notes, int(NOTES_SHARE * self._options.input_tokens), self._count))
        spent = _Spent()
        try:
            text = await self._fold(job, spent, self._options.model)
        except SummaryError as exc:
            if not self._may_ask_own_model(spent):
                raise
            spent.failures.append(exc.reason)
            text = await self._fold(job, spent, self._options.own_model)
        grounded = await self._work.ground(text, job)
        return Summary(grounded, calls=spent.calls, prompt_tokens=spent.prompt_tokens, failures=tuple(spent.failures))

    async def _fold(self, job: SummaryJob, spent: _Spent, model: str | None) -> str:
        """
        Ask once, or chunk after chunk where the record does not fit one prompt, each answer folded into the next.
        """
        room = self._options.input_tokens - sum(self._count(note.text) for note in job.notes)
        bounds = Bounds(room, max(self._options.max_calls - spent.calls, 1))
        notes = job.previous
        for record in await self._work.records(job, bounds):
            notes = await self._ask_once(job, record, notes, spent, model)
        return notes or ""

    async def _ask_once(
        self, job: SummaryJob, record: Record, notes: str | None, spent: _Spent, model: str | None
    ) -> str:
        prompt = SummaryPrompt(build_messages(record, self._task(job, notes)), model)
        spent.calls += 1
        answer = await self._ask(prompt)
        spent.prompt_tokens += answer.prompt_tokens
        return accept(answer, source="\n".join([*record, notes or ""]))

    def _task(self, job: SummaryJob, notes: str | None) -> Task:
        language = language_of(job.originals, extra=job.first_ask)
        return Task(
            language=language,
            words=max(int(job.budget_tokens * _WORDS_PER_TOKEN.get(language, _LATIN_WORDS)), _LEAST_WORDS),
            previous=notes,
            focus=job.focus,
            instructions=self._options.instructions,
            kept=job.notes,
        )

    def _may_ask_own_model(self, spent: _Spent) -> bool:
        options = self._options
        differs = options.model is not None and options.own_model not in {None, options.model}
        return differs and spent.calls < options.max_calls
