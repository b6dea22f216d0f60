"""
What one step of the script does.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from proxy.chat.json import dumps
from proxy.chat.messages import Message
from proxy.chat.sse import data_event
from proxy.simulator.answers import Call
from proxy.simulator.reply import Ending, Headers, Reply, json_reply, sse_reply
from proxy.simulator.turn import Speech, Turn

_PIECE_BYTES = 64


class Action(Protocol):
    """
    Answers one request; *speaks* tells whether it is the model that speaks, which needs a request that fits.
    """

    speaks: ClassVar[bool]

    def reply(self, turn: Turn) -> Reply:
        """
        Return the answer to *turn*.
        """


@dataclass(frozen=True, slots=True)
class Say:
    """
    Answer with *text*, or with the default text.
    """

    text: str | None = None
    reasoning: str = ""
    finish: str | None = None
    piece_chars: int = 12

    speaks: ClassVar[bool] = True

    def reply(self, turn: Turn) -> Reply:
        """
        Return the answer to *turn*.
        """
        text = turn.default_text() if self.text is None else self.text
        return turn.say(Speech(text, self.reasoning, (), self.finish, self.piece_chars))


@dataclass(frozen=True, slots=True)
class CallTools:
    """
    Answer with tool calls; an empty id becomes one numbered by the answer.
    """

    calls: tuple[Call, ...]
    text: str = ""
    piece_chars: int = 12

    speaks: ClassVar[bool] = True

    def reply(self, turn: Turn) -> Reply:
        """
        Return the answer to *turn*.
        """
        calls = tuple(
            replace(call, call_id=call.call_id or f"call_{turn.number}_{index}")
            for index, call in enumerate(self.calls)
        )
        return turn.say(Speech(self.text, "", calls, None, self.piece_chars))


@dataclass(frozen=True, slots=True)
class Overflow:
    """
    Refuse as too long, whatever the size; a prompt that would fit is stated as one token too many.
    """

    limit: int | None = None
    wording: str | None = None
    prompt: int | None = None

    speaks: ClassVar[bool] = False

    def reply(self, turn: Turn) -> Reply:
        """
        Return the answer to *turn*.
        """
        limit = self.limit or turn.settings.window or max(turn.received.prompt_tokens - 1, 1)
        prompt = max(turn.received.prompt_tokens, limit + 1) if self.prompt is None else self.prompt
        return turn.refuse(limit=limit, wording=self.wording or turn.settings.wording, prompt=prompt)


@dataclass(frozen=True, slots=True)
class Status:
    """
    Answer a bare status, with an error body unless one is given.
    """

    code: int
    body: bytes | None = None
    headers: Headers = ()
    close: bool = False

    speaks: ClassVar[bool] = False

    def reply(self, turn: Turn) -> Reply:
        """
        Return the answer to *turn*.
        """
        if self.body is not None:
            return Reply(status=self.code, headers=self.headers, body=self.body, close=self.close)
        kind = "server_error" if self.code >= 500 else "invalid_request_error"
        error: Message = {"message": f"simulated status {self.code}", "type": kind, "param": None, "code": None}
        headers = (*turn.headers, *self.headers)
        return json_reply({"error": error}, status=self.code, headers=headers, close=self.close)


@dataclass(frozen=True, slots=True)
class Fixed:
    """
    Answer exactly these bytes.
    """

    fixed: Reply

    speaks: ClassVar[bool] = False

    def reply(self, turn: Turn) -> Reply:  # noqa: ARG002 - the same for every request
        """
        Return the answer to *turn*.
        """
        return self.fixed


@dataclass(frozen=True, slots=True)
class SseError:
    """
    Report an error inside a stream of status 200, after some chunks of an answer.
    """

    message: str
    code: object = None
    kind: str = "server_error"
    after_chunks: int = 0
    name: str = ""

    speaks: ClassVar[bool] = False

    def reply(self, turn: Turn) -> Reply:
        """
        Return the answer to *turn*.
        """
        error = {"error": {"message": self.message, "type": self.kind, "param": None, "code": self.code}}
        name = f"event: {self.name}\n".encode() if self.name else b""
        before = chunks_of(turn.say(Speech(turn.default_text())))[: self.after_chunks]
        return sse_reply((*before, name + data_event(error)), headers=turn.headers)


@dataclass(frozen=True, slots=True)
class Broken:
    """
    Begin a good answer and end it badly after some chunks; *pause* lets the chunks be read before the end.
    """

    ending: Ending
    after_chunks: int = 0
    pause: float = 0.02
    text: str | None = None

    speaks: ClassVar[bool] = False

    def reply(self, turn: Turn) -> Reply:
        """
        Return the answer to *turn*.
        """
        whole = turn.say(Speech(turn.default_text() if self.text is None else self.text))
        if self.ending is Ending.SHORT:
            return replace(whole, body=whole.body or b"".join(chunks_of(whole)), chunks=None, ending=self.ending)
        chunks = chunks_of(whole)[: self.after_chunks]
        return replace(whole, body=b"", chunks=chunks, ending=self.ending, pause_seconds=self.pause)


@dataclass(frozen=True, slots=True)
class Dripping:
    """
    Answer well, but in pieces of *size* bytes.
    """

    size: int = 1

    speaks: ClassVar[bool] = False

    def reply(self, turn: Turn) -> Reply:
        """
        Return the answer to *turn*.
        """
        whole = turn.say(Speech(turn.default_text()))
        raw = whole.body or b"".join(chunks_of(whole))
        pieces = tuple(raw[start : start + self.size] for start in range(0, len(raw), self.size))
        return replace(whole, body=b"", chunks=pieces)


@dataclass(frozen=True, slots=True)
class Announced:
    """
    Answer well after *count* informational answers, or with *headers* headers of *size* bytes.
    """

    count: int = 0
    headers: int = 0
    size: int = 0

    speaks: ClassVar[bool] = False

    def reply(self, turn: Turn) -> Reply:
        """
        Return the answer to *turn*.
        """
        whole = turn.say(Speech(turn.default_text()))
        added = tuple((f"X-Bomb-{number}", "b" * self.size) for number in range(self.headers))
        before = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * self.count
        return replace(whole, headers=(*whole.headers, *added), before=before)


@dataclass(frozen=True, slots=True)
class Gzipped:
    """
    Answer with gzip encoding, whole or *truncated* in the middle.
    """

    truncated: bool = False

    speaks: ClassVar[bool] = False

    def reply(self, turn: Turn) -> Reply:
        """
        Return the answer to *turn*.
        """
        whole = turn.say(Speech(turn.default_text()))
        packed = gzip.compress(whole.body or b"".join(chunks_of(whole)), mtime=0)
        headers = (*whole.headers, ("Content-Encoding", "gzip"))
        return Reply(headers=headers, body=packed[: len(packed) // 2] if self.truncated else packed)


def chunks_of(reply: Reply) -> tuple[bytes, ...]:
    """
    Return the chunks of an answer; one that is no stream is cut into small pieces.
    """
    if reply.chunks is not None:
        return reply.chunks
    return tuple(reply.body[start : start + _PIECE_BYTES] for start in range(0, len(reply.body), _PIECE_BYTES))


def arguments_text(arguments: object) -> str:
    """
    Return tool arguments as the JSON text that goes onto the wire.
    """
    return arguments if isinstance(arguments, str) else dumps(arguments).decode()
