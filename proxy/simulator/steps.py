"""
The script: what comes next, and under which condition.

A step is taken by the first request that meets its condition. A step in which the model speaks also waits for a
request that fits the window and breaks no rule; refusals and faults do not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from proxy.simulator.actions import (
    Action,
    Announced,
    Broken,
    CallTools,
    Dripping,
    Fixed,
    Gzipped,
    Overflow,
    Say,
    SseError,
    Status,
    arguments_text,
)
from proxy.simulator.answers import Call
from proxy.simulator.received import Received
from proxy.simulator.reply import JSON_TYPE, Ending, Headers, Reply, sse_reply
from proxy.simulator.wordings import WORDINGS


@dataclass(frozen=True, slots=True)
class Condition:
    """
    Which requests a step is for; summariser calls only where *summary* says so (``None``: both).
    """

    stream: bool | None = None
    min_messages: int = 0
    summary: bool | None = False
    path: str = "/chat/completions"
    model: str | None = None

    def holds(self, received: Received) -> bool:
        """
        Tell whether the step is for this request.
        """
        return (
            received.path.endswith(self.path)
            and self.stream in {None, received.stream}
            and self.summary in {None, received.is_summary_call}
            and self.model in {None, received.model}
            and len(received.messages) >= self.min_messages
        )


@dataclass(frozen=True, slots=True)
class Step:
    """
    One step: an *action*, whom it is for, and how long it waits.
    """

    action: Action
    condition: Condition = Condition()
    delay_seconds: float = 0.0
    gate: asyncio.Event | None = None
    hang_up: bool = False


class Script:
    """
    Steps that are taken one by one.
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.steps = list(steps)

    def will(self, *steps: Step | Iterable[Step]) -> None:
        """
        Append steps; a list of steps, as *repeat* returns, counts as its members.
        """
        for step in steps:
            self.steps += [step] if isinstance(step, Step) else list(step)

    def take(self, received: Received, *, may_speak: bool) -> Step | None:
        """
        Take the first step that is for this request, if there is one.
        """
        for step in self.steps:
            if step.condition.holds(received) and (may_speak or not step.action.speaks):
                self.steps.remove(step)
                return step
        return None


def answer(text: str | None = None, *, finish: str | None = None, reasoning: str = "", piece_chars: int = 12) -> Step:
    """
    Answer with *text*.
    """
    return Step(Say(text, reasoning, finish, piece_chars))


def tool_call(name: str, arguments: object = None, *, call_id: str = "", text: str = "") -> Step:
    """
    Answer with one tool call; *arguments* is an object, or the very text.
    """
    return Step(CallTools((Call(name, arguments_text(arguments or {}), call_id),), text))


def tool_calls(*calls: tuple[str, object], text: str = "") -> Step:
    """
    Answer with several tool calls, each a name with its arguments.
    """
    return Step(CallTools(tuple(Call(name, arguments_text(arguments), "") for name, arguments in calls), text))


def agent_rounds(rounds: int, *, name: str = "read_file", final: str = "done") -> list[Step]:
    """
    Call a tool *rounds* times, then finish.
    """
    calls = [tool_call(name, {"path": f"src/part_{number}.py"}) for number in range(rounds)]
    return [*calls, answer(final)]


def overflow(limit: int | None = None, *, wording: str | None = None, prompt: int | None = None) -> Step:
    """
    Refuse as too long, whatever the size.
    """
    if wording is not None and wording not in WORDINGS:
        raise ValueError(f"unknown wording {wording!r}; known: {', '.join(WORDINGS)}")
    return Step(Overflow(limit, wording, prompt))


def status(code: int, *, body: bytes | None = None, headers: Headers = (), close: bool = False) -> Step:
    """
    Answer a status with an error body, or with the very *body*.
    """
    return Step(Status(code, body, headers, close))


def hang(after_chunks: int | None = None) -> Step:
    """
    Send nothing, or some chunks, and then nothing until the client leaves.
    """
    if after_chunks is None:
        return Step(Fixed(Reply(ending=Ending.SILENT)))
    return Step(Broken(Ending.HANG, after_chunks))


def reset_midstream(after_chunks: int = 2, *, clean_close: bool = False, pause: float = 0.02) -> Step:
    """
    Break the connection in the middle of an answer: a TCP reset, or a plain close.
    """
    return Step(Broken(Ending.DROP if clean_close else Ending.RESET, after_chunks, pause))


def reset_at_once() -> Step:
    """
    Break the connection before a byte of an answer.
    """
    return Step(Fixed(Reply(ending=Ending.RESET)))


def sse_error(
    message: str, *, code: object = None, after_chunks: int = 0, name: str = "", kind: str = "server_error"
) -> Step:
    """
    Report an error inside a stream of status 200.
    """
    return Step(SseError(message, code, kind, after_chunks, name))


def raw(
    status: int = 200, headers: Headers = (JSON_TYPE,), body: bytes = b"", *, chunks: Iterable[bytes] | None = None
) -> Step:
    """
    Answer exactly this; *chunks* are sent one by one.
    """
    return Step(Fixed(Reply(status, headers, body, None if chunks is None else tuple(chunks))))


def empty_stream() -> Step:
    """
    Answer 200 with an event stream that ends cleanly without one event.
    """
    return Step(Fixed(sse_reply(())))


def malformed_chunking(after_chunks: int = 1) -> Step:
    """
    Break the chunked encoding in the middle of an answer.
    """
    return Step(Broken(Ending.BAD_CHUNK, after_chunks))


def half_closed(after_chunks: int = 1) -> Step:
    """
    Shut the sending side in the middle of an answer, and keep the connection.
    """
    return Step(Broken(Ending.HALF_CLOSED, after_chunks))


def drip(size: int = 1) -> Step:
    """
    Answer in pieces of a few bytes.
    """
    return Step(Dripping(size))


def informational(count: int = 100) -> Step:
    """
    Send many informational answers before the answer itself.
    """
    return Step(Announced(count=count))


def header_bomb(count: int = 100, *, size: int = 100) -> Step:
    """
    Answer with very many, or very long, headers.
    """
    return Step(Announced(headers=count, size=size))


def giant_event(megabytes: int = 4) -> Step:
    """
    Answer with an event stream of one line.
    """
    event = b"data: " + b"x" * (megabytes << 20) + b"\n\n"
    return Step(Fixed(sse_reply((event, b"data: [DONE]\n\n"))))


def invalid_utf8() -> Step:
    """
    Answer with JSON whose text is no UTF-8.
    """
    body = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"\xff\xfe"},"finish_reason":"stop"}]}'
    return raw(body=body)


def lying_content_length() -> Step:
    """
    Promise more bytes than are sent.
    """
    return Step(Broken(Ending.SHORT))


def truncated_gzip() -> Step:
    """
    Answer with gzip encoding that stops in the middle.
    """
    return Step(Gzipped(truncated=True))


def gzipped() -> Step:
    """
    Answer with gzip encoding.
    """
    return Step(Gzipped())


def delay(seconds: float, step: Step | None = None) -> Step:
    """
    Wait before *step*, or before the default answer.
    """
    return replace(step or answer(), delay_seconds=seconds)


def gated(gate: asyncio.Event, step: Step | None = None) -> Step:
    """
    Wait until *gate* is set before *step*, or before the default answer.
    """
    return replace(step or answer(), gate=gate)


def then_hang_up(step: Step | None = None) -> Step:
    """
    Close the connection after the answer without having said so, as idle keep-alive connections die.
    """
    return replace(step or answer(), hang_up=True)


def when(step: Step, **condition: Any) -> Step:
    """
    Keep *step* for requests that meet the condition, named by the fields of *Condition*.
    """
    return replace(step, condition=replace(step.condition, **condition))


def repeat(times: int, step: Step) -> list[Step]:
    """
    Return *step* several times.
    """
    return [step] * times
