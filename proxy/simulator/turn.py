"""
One request that is being answered, and the ways to answer it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from proxy.chat.json import dumps
from proxy.simulator.answers import Answer, Call, Dialect, StreamStyle, stream, whole
from proxy.simulator.received import Received
from proxy.simulator.refusals import Effect, Refusal, refuse
from proxy.simulator.reply import Headers, Reply, json_reply, sse_reply
from proxy.simulator.settings import SimulatorSettings
from proxy.simulator.wordings import WORDINGS


@dataclass(frozen=True, slots=True)
class Speech:
    """
    What the model is to say.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = None
    piece_chars: int = 12


@dataclass(frozen=True, slots=True)
class Turn:
    """
    A measured request: *number* counts the answers, *tools_tokens* is the part of the prompt that schemas take.
    """

    received: Received
    settings: SimulatorSettings
    dialect: Dialect
    number: int
    count: Callable[[str], int]
    tools_tokens: int = 0

    @property
    def asked_output(self) -> int | None:
        """
        The output tokens asked for.
        """
        for key in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
            value = self.received.fields.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        return None

    @property
    def fits(self) -> bool:
        """
        Whether the request fits the window, as this kind of server reckons.
        """
        if self.settings.window is None:
            return True
        output = (self.asked_output or 0) if WORDINGS[self.settings.wording].counts_output else 0
        return self.received.prompt_tokens + output <= self.settings.window

    def default_text(self) -> str:
        """
        Return an answer that depends on the rows alone.
        """
        digest = hashlib.sha256(dumps(self.received.messages or self.received.fields)).hexdigest()[:8]
        return f"This is the simulated answer {digest}."

    def say(self, speech: Speech) -> Reply:
        """
        Return the answer, cut where the asked output or the window ends.
        """
        return self._render(self._cut(self._answer(speech)), speech.piece_chars)

    def refuse(self, *, limit: int, wording: str, prompt: int | None = None) -> Reply:
        """
        Refuse as the server called *wording* does; some kinds answer with a truncated prompt or with nothing.
        """
        effect = WORDINGS[wording].effect
        if effect is Effect.LENGTH:
            return self._render(self._answer(Speech(finish="length")), 12)
        if effect is Effect.TRUNCATE:
            kept = replace(self._answer(Speech(self.default_text())), prompt_tokens=limit // 2 + 2, cached_tokens=0)
            return self._render(kept, 12)
        refusal = Refusal(
            prompt=self.received.prompt_tokens if prompt is None else prompt,
            output=self.asked_output or 0,
            limit=limit,
            model=self.received.model,
            tools=self.tools_tokens,
        )
        return refuse(WORDINGS[wording], refusal, stream=self.received.stream)

    def _answer(self, speech: Speech) -> Answer:
        said = "".join([speech.text, speech.reasoning, *(call.name + call.arguments for call in speech.calls)])
        return Answer(
            number=self.number,
            model=self.received.model or self.settings.models[0],
            text=speech.text,
            reasoning=speech.reasoning,
            calls=speech.calls,
            finish=speech.finish or ("tool_calls" if speech.calls else "stop"),
            prompt_tokens=self.received.prompt_tokens,
            completion_tokens=self.count(said),
            cached_tokens=self.received.cached_tokens,
        )

    def _cut(self, answer: Answer) -> Answer:
        rooms = [] if self.asked_output is None else [self.asked_output]
        if self.settings.window is not None:
            rooms.append(max(self.settings.window - self.received.prompt_tokens, 0))
        room = min(rooms, default=answer.completion_tokens)
        if answer.calls or answer.completion_tokens <= room:
            return answer
        text = answer.text[: len(answer.text) * room // answer.completion_tokens]
        return replace(answer, text=text, finish="length", completion_tokens=room)

    def _render(self, answer: Answer, piece_chars: int) -> Reply:
        if not self.received.stream:
            return json_reply(whole(answer, self.dialect), headers=self.headers)
        options = self.received.fields.get("stream_options")
        style = StreamStyle(
            piece_chars=piece_chars,
            with_usage=isinstance(options, dict) and options.get("include_usage") is True,
            comments=self.settings.stream_comments,
        )
        return sse_reply(stream(answer, self.dialect, style), headers=self.headers)

    @property
    def headers(self) -> Headers:
        """
        The headers of a good answer, as providers add them.
        """
        return (
            ("x-request-id", f"req-sim-{self.number}"),
            ("openai-processing-ms", "7"),
            ("x-ratelimit-remaining-requests", "9999"),
        )
