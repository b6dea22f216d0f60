"""
The summariser that asks a model: bounds what it reads, checks what it answers, grounds it in the source.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial

from proxy.chat.language import language_of
from proxy.compaction.handover import unwrap
from proxy.errors import SummaryError
from proxy.summaries.base import Summarizer, Summary, SummaryJob
from proxy.summaries.bounding import Bounds
from proxy.summaries.guards import SummaryAnswer, accept
from proxy.summaries.in_place import Place
from proxy.summaries.keeping import notes_within
from proxy.summaries.ledger.extract import NOTES_SHARE
from proxy.summaries.prompt import SummaryPrompt, Task, build_messages, row_in_place
from proxy.summaries.work import InlineWork, SummaryWork, TextCounter

Ask = Callable[[SummaryPrompt], Awaitable[SummaryAnswer]]
Way = Callable[[SummaryJob, "_Spent"], Awaitable[str]]

_ROW_TOKENS = 400
"""What the row that asks within the conversation takes."""

_WORDS_PER_TOKEN = {"zh": 1.1, "ja": 0.9, "ko": 0.6}
_LATIN_WORDS = 0.65
_LEAST_WORDS = 60


@dataclass(frozen=True, slots=True)
class LlmOptions:
    """
    How the model is asked: *input_tokens* is what one prompt may hold (its window less the answer), *own_model* the
    request's own, tried once when *model* fails, *place* the conversation to ask within.
    """

    input_tokens: int = 100_000
    model: str | None = None
    own_model: str | None = None
    max_calls: int = 4
    instructions: str | None = None
    place: Place | None = None


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
        text = await self._written(job, spent)
        grounded = await self._work.ground(text, job)
        return Summary(grounded, calls=spent.calls, prompt_tokens=spent.prompt_tokens, failures=tuple(spent.failures))

    async def _written(self, job: SummaryJob, spent: _Spent) -> str:
        """
        Try one way after the other: within the conversation, by the summary model, by the request's own.
        """
        ways = self._ways(job)
        for way in ways:
            try:
                return await way(job, spent)
            except SummaryError as exc:
                if way is ways[-1] or spent.calls >= self._options.max_calls:
                    raise
                spent.failures.append(exc.reason)
        raise AssertionError("there is always a way")

    def _ways(self, job: SummaryJob) -> list[Way]:
        options = self._options
        ways: list[Way] = [self._in_place] if self._fits_in_place(job) else []
        ways.append(partial(self._fold, model=options.model))
        if options.model is not None and options.own_model not in {None, options.model}:
            ways.append(partial(self._fold, model=options.own_model))
        return ways

    def _fits_in_place(self, job: SummaryJob) -> bool:
        place = self._options.place
        if place is None or (place.folded and job.previous is None):
            return False  # a summary that is to be made from the originals again does not see them there
        return place.tokens + _ROW_TOKENS + self._notes_tokens(job) <= self._options.input_tokens

    async def _in_place(self, job: SummaryJob, spent: _Spent) -> str:
        place = self._options.place
        assert place is not None
        row = row_in_place(self._task(job, None), kept_rows=len(job.tail))
        return await self._judged(SummaryPrompt((*place.messages, row), None, place.fields), spent, source=place.text)

    async def _fold(self, job: SummaryJob, spent: _Spent, *, model: str | None) -> str:
        """
        Ask once, or chunk after chunk where the record does not fit one prompt, each answer folded into the next.
        """
        room = self._options.input_tokens - self._notes_tokens(job)
        bounds = Bounds(room, max(self._options.max_calls - spent.calls, 1))
        notes = job.previous
        for record in await self._work.records(job, bounds):
            prompt = SummaryPrompt(build_messages(record, self._task(job, notes)), model)
            notes = await self._judged(prompt, spent, source="\n".join([*record, notes or ""]))
        return notes or ""

    async def _judged(self, prompt: SummaryPrompt, spent: _Spent, *, source: str) -> str:
        """
        Return what the model answers, if it is a summary of *source*.
        """
        spent.calls += 1
        answer = await self._ask(prompt)
        spent.prompt_tokens += answer.prompt_tokens
        return accept(answer, source=source)

    def _notes_tokens(self, job: SummaryJob) -> int:
        return sum(self._count(note.text) for note in job.notes)

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
