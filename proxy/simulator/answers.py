"""
Bodies and streams of answers, in the three dialects: chat completions, completions and responses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from proxy.chat.messages import Message
from proxy.chat.sse import DONE, comment, data_event

CREATED = 1_700_000_000
Dialect = Literal["chat", "completions", "responses"]


@dataclass(frozen=True, slots=True)
class Call:
    """
    One tool call of an answer; *arguments* is JSON text.
    """

    name: str
    arguments: str
    call_id: str


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What the model says, with the figures of the usage block.
    """

    number: int
    model: str
    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    @property
    def usage(self) -> Message:
        """
        The usage block.
        """
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
        }


@dataclass(frozen=True, slots=True)
class StreamStyle:
    """
    How a stream is cut and dressed.
    """

    piece_chars: int = 12
    with_usage: bool = False
    comments: bool = False


def whole(answer: Answer, dialect: Dialect) -> Message:
    """
    Return the answer as one object.
    """
    if dialect == "responses":
        return _response(answer, status="completed")
    if dialect == "completions":
        choice: Message = {"index": 0, "text": answer.text, "logprobs": None, "finish_reason": answer.finish}
        return _envelope(answer, "text_completion", "cmpl", [choice], usage=answer.usage)
    choice = {"index": 0, "message": _message(answer), "logprobs": None, "finish_reason": answer.finish}
    return _envelope(answer, "chat.completion", "chatcmpl", [choice], usage=answer.usage)


def stream(answer: Answer, dialect: Dialect, style: StreamStyle) -> tuple[bytes, ...]:
    """
    Return the answer as the events of a stream, one a chunk.
    """
    opening = (comment("SIMULATOR PROCESSING"),) if style.comments else ()
    if dialect == "responses":
        return (*opening, *_response_events(answer, style))
    events = _chat_events(answer, style) if dialect == "chat" else _completion_events(answer, style)
    return (*opening, *events, b"data: " + DONE + b"\n\n")


def _envelope(answer: Answer, kind: str, prefix: str, choices: list[Message], **more: Any) -> Message:
    return {
        "id": f"{prefix}-sim-{answer.number}",
        "object": kind,
        "created": CREATED,
        "model": answer.model,
        "choices": choices,
        "system_fingerprint": "fp_simulated",
        **more,
    }


def _message(answer: Answer) -> Message:
    message: Message = {"role": "assistant", "content": answer.text or (None if answer.calls else "")}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [_call(call) for call in answer.calls]
    return message


def _call(call: Call) -> Message:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), max(size, 1)):
        yield text[start : start + max(size, 1)]


def _chat_events(answer: Answer, style: StreamStyle) -> Iterator[bytes]:
    more: Message = {"usage": None} if style.with_usage else {}

    def chunk(delta: Message, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return data_event(_envelope(answer, "chat.completion.chunk", "chatcmpl", [choice], **more))

    yield chunk({"role": "assistant", "content": None if answer.calls else ""})
    yield from (chunk({"reasoning_content": piece}) for piece in _pieces(answer.reasoning, style.piece_chars))
    yield from (chunk({"content": piece}) for piece in _pieces(answer.text, style.piece_chars))
    for index, call in enumerate(answer.calls):
        opened = {"index": index, "id": call.call_id, "type": "function"}
        yield chunk({"tool_calls": [{**opened, "function": {"name": call.name, "arguments": ""}}]})
        for piece in _pieces(call.arguments, style.piece_chars):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, answer.finish)
    if style.with_usage:
        yield data_event(_envelope(answer, "chat.completion.chunk", "chatcmpl", [], usage=answer.usage))


def _completion_events(answer: Answer, style: StreamStyle) -> Iterator[bytes]:
    def chunk(text: str, finish: str | None = None) -> bytes:
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
        return data_event(_envelope(answer, "text_completion", "cmpl", [choice]))

    yield from (chunk(piece) for piece in _pieces(answer.text, style.piece_chars))
    yield chunk("", answer.finish)
    if style.with_usage:
        yield data_event(_envelope(answer, "text_completion", "cmpl", [], usage=answer.usage))


def _response(answer: Answer, *, status: str) -> Message:
    done = status == "completed"
    part = {"type": "output_text", "text": answer.text, "annotations": []}
    item = {"type": "message", "id": f"msg-sim-{answer.number}", "role": "assistant", "content": [part]}
    usage = {
        "input_tokens": answer.prompt_tokens,
        "output_tokens": answer.completion_tokens,
        "total_tokens": answer.prompt_tokens + answer.completion_tokens,
    }
    return {
        "id": f"resp-sim-{answer.number}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "model": answer.model,
        "output": [item] if done else [],
        "usage": usage if done else None,
    }


def _response_events(answer: Answer, style: StreamStyle) -> Iterator[bytes]:
    def event(kind: str, **more: Any) -> bytes:
        return f"event: {kind}\n".encode() + data_event({"type": kind, **more})

    yield event("response.created", response=_response(answer, status="in_progress"))
    for piece in _pieces(answer.text, style.piece_chars):
        yield event("response.output_text.delta", item_id=f"msg-sim-{answer.number}", delta=piece)
    yield event("response.completed", response=_response(answer, status="completed"))
