"""
The make-believe model: measure, judge, refuse or answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from proxy.chat.json import dumps
from proxy.chat.messages import Message, text_of
from proxy.simulator.answers import Dialect
from proxy.simulator.counting import Counter, row_tokens
from proxy.simulator.prefix import PrefixCache, digests
from proxy.simulator.received import Received
from proxy.simulator.refusals import html_413, json_413
from proxy.simulator.reply import Reply, json_reply
from proxy.simulator.rules import Violation, judge
from proxy.simulator.settings import SimulatorSettings
from proxy.simulator.steps import Script, Step
from proxy.simulator.summaries import summary_text
from proxy.simulator.turn import Speech, Turn

SummaryTest = Callable[[Received], bool]

_INSTRUCTIONS_AND_TOOLS = ("tools", "functions", "instructions")


class Model:
    """
    Answers inference calls; keeps the script, the prompt cache, and the numbers of answers and summaries.
    """

    def __init__(
        self,
        settings: SimulatorSettings,
        script: Script,
        counter: Counter,
        is_summary: SummaryTest | None = None,
    ) -> None:
        self._settings = settings
        self._script = script
        self._counter = counter
        self._is_summary = is_summary or self._looks_like_summary
        self._cache = PrefixCache()
        self._answers = 0
        self._summaries = 0

    def answer(self, received: Received, dialect: Dialect) -> tuple[Reply, float]:
        """
        Return the answer and the seconds to wait before it; fill in what was measured.
        """
        problem = self._unusable(received, dialect)
        if problem is not None:
            return problem, 0.0
        turn = self._measure(received, dialect)
        refusal = self._refusal(turn)
        step = self._script.take(received, may_speak=refusal is None)
        if step is not None:
            if step.action.speaks:
                self._cache.remember(received.prefixes)
            return _perform(step, turn)
        if refusal is None:
            self._cache.remember(received.prefixes)
            refusal = self._summary(turn) if received.is_summary_call else turn.say(Speech(turn.default_text()))
        return refusal, 0.0

    def scripted(self, received: Received, step: Step) -> tuple[Reply, float]:
        """
        Return what *step* does to a call that is no inference call.
        """
        return _perform(step, Turn(received, self._settings, "chat", self._answers, self._counter.text))

    def _measure(self, received: Received, dialect: Dialect) -> Turn:
        self._answers += 1
        rows = _rows(received, dialect)
        counts = row_tokens(self._counter, rows)
        fixed = self._counter.fixed(received.fields)
        received.prompt_tokens = self._own(sum(counts) + fixed) + self._settings.hidden_tokens
        received.is_summary_call = self._is_summary(received)
        if dialect == "chat":
            received.violations = self._judge(received)
        seed = [received.model, *(received.fields.get(key) for key in _INSTRUCTIONS_AND_TOOLS)]
        received.prefixes = digests(seed, rows)
        received.cached_rows = self._cache.match(received.prefixes)
        if received.cached_rows:
            received.cached_tokens = self._own(sum(counts[: received.cached_rows]) + fixed)
        tools = self._own(fixed) if received.fields.get("tools") else 0
        return Turn(received, self._settings, dialect, self._answers, self._counter.text, tools)

    def _own(self, tokens: int) -> int:
        return round(tokens * self._settings.token_ratio)

    def _judge(self, received: Received) -> tuple[Violation, ...]:
        return judge(
            received.messages,
            open_calls_at_end=self._settings.open_calls_at_end,
            alternation=self._settings.alternation != "off",
        )

    def _refusal(self, turn: Turn) -> Reply | None:
        settings = self._settings
        too_large = bytes_refusal(settings, len(turn.received.body))
        if too_large is not None:
            return too_large
        for violation in turn.received.violations if settings.strict else ():
            if violation.kind != "alternation" or settings.alternation == "on":
                return _rejected(violation)
        if settings.max_output is not None and (turn.asked_output or 0) > settings.max_output:
            return _output_cap(turn.asked_output or 0, settings.max_output)
        if settings.window is not None and not turn.fits:
            return turn.refuse(limit=settings.window, wording=settings.wording)
        return None

    def _summary(self, turn: Turn) -> Reply:
        self._summaries += 1
        source = "\n".join(text_of(row) for row in turn.received.messages if isinstance(row, dict))
        budget = self._settings.summary_tokens
        return turn.say(
            Speech(
                summary_text(self._summaries, source, budget_tokens=budget, count=self._counter.text), piece_chars=80
            )
        )

    def _looks_like_summary(self, received: Received) -> bool:
        settings = self._settings
        if settings.summary_model is not None and received.model == settings.summary_model:
            return True
        if settings.summary_header is not None and received.header(settings.summary_header) is not None:
            return True
        if settings.summary_field is not None and settings.summary_field in received.fields:
            return True
        if not settings.summary_markers or received.fields.get("tools"):
            return False
        rows = [row for row in received.messages if isinstance(row, dict)]
        text = "\n".join(text_of(row) for row in (*rows[:1], *rows[-1:]))
        return all(marker in text for marker in settings.summary_markers)

    def _unusable(self, received: Received, dialect: Dialect) -> Reply | None:
        if not isinstance(received.data, dict):
            return _invalid("We could not parse the JSON body of your request.")
        if dialect == "chat" and not isinstance(received.data.get("messages"), list):
            return _invalid("you must provide a messages parameter")
        if dialect == "chat" and not received.messages:
            return _invalid("[] is too short - 'messages'")
        return None


def bytes_refusal(settings: SimulatorSettings, size: int) -> Reply | None:
    """
    Return the 413 for a body of *size* bytes where it is too large.
    """
    if settings.max_bytes is None or size <= settings.max_bytes:
        return None
    return html_413() if settings.bytes_wording == "nginx" else json_413(settings.max_bytes)


def _output_cap(asked: int, cap: int) -> Reply:
    text = f"max_tokens is too large: {asked}. This model supports at most {cap} completion tokens, whereas you provided {asked}."
    return _invalid(text, param="max_tokens")


def _perform(step: Step, turn: Turn) -> tuple[Reply, float]:
    return replace(step.action.reply(turn), gate=step.gate, hang_up=step.hang_up), step.delay_seconds


def _rows(received: Received, dialect: Dialect) -> list[Any]:
    """
    Return what the prompt is made of; the other dialects are read as rows too.
    """
    if dialect == "chat":
        return received.messages
    given = received.fields.get("prompt" if dialect == "completions" else "input")
    rows = given if isinstance(given, list) else [given or ""]
    texts: list[Any] = [{"role": "user", "content": row} if isinstance(row, str) else row for row in rows]
    instructions = received.fields.get("instructions")
    return [{"role": "system", "content": instructions}, *texts] if isinstance(instructions, str) else texts


def _rejected(violation: Violation) -> Reply:
    if violation.status >= 500:
        error: Message = {"code": violation.status, "message": violation.message, "type": "server_error"}
        return json_reply({"error": error}, status=violation.status, close=True)
    return _invalid(violation.message, param="messages")


def _invalid(message: str, *, param: str | None = None) -> Reply:
    error: Message = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    return Reply(status=400, body=dumps({"error": error}))
