"""
What a refusal is made of: the figures, the wording, and the form in which it is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from proxy.chat.sse import data_event
from proxy.simulator.reply import Headers, Reply, json_reply, sse_reply


@dataclass(frozen=True, slots=True)
class Refusal:
    """
    The figures of a request that does not fit; *tools* is the part of *prompt* that schemas take.
    """

    prompt: int
    output: int
    limit: int
    model: str = "sim-model"
    tools: int = 0

    @property
    def total(self) -> int:
        """
        Prompt and output together.
        """
        return self.prompt + self.output


class Effect(Enum):
    """
    What a server does with a prompt that does not fit.
    """

    REFUSE = "refuse"
    TRUNCATE = "truncate"  # drop the front and answer as if nothing were
    LENGTH = "length"  # answer nothing, with finish_reason length


class StreamForm(Enum):
    """
    How a refusal looks to a client that asked for a stream.
    """

    SAME = "same"
    DATA = "data"  # 200, and the error in a data event
    EVENT = "event"  # 200, and an event named error
    EMPTY = "empty"  # 200, and a stream of no bytes


@dataclass(frozen=True, slots=True)
class Wording:
    """
    One way to refuse; *counts_output* tells whether the asked output is added to the prompt.
    """

    body: Callable[[Refusal], object]
    status: int = 400
    counts_output: bool = False
    stream: StreamForm = StreamForm.SAME
    effect: Effect = Effect.REFUSE
    headers: Headers = ()
    close: bool = False


NGINX_413 = (
    b"<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n"
    b"<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx/1.27.0</center>\r\n</body>\r\n</html>\r\n"
)


def refuse(wording: Wording, refusal: Refusal, *, stream: bool) -> Reply:
    """
    Return the refusal in this *wording*.
    """
    value = wording.body(refusal)
    if stream and wording.stream is not StreamForm.SAME:
        return sse_reply(_stream(wording.stream, value), headers=wording.headers)
    if isinstance(value, bytes):
        return html_413(value, status=wording.status)
    return json_reply(value, status=wording.status, headers=wording.headers, close=wording.close)


def html_413(body: bytes = NGINX_413, *, status: int = 413) -> Reply:
    """
    Return the HTML page of a web server that stands before the API.
    """
    return Reply(status=status, headers=(("Content-Type", "text/html"), ("Server", "nginx")), body=body, close=True)


def json_413(limit: int) -> Reply:
    """
    Return the JSON form of a refusal for bytes.
    """
    text = f"Request exceeds the maximum allowed number of bytes. The maximum request size is {limit} bytes."
    return json_reply({"error": {"type": "request_too_large", "message": text}}, status=413, close=True)


def _stream(form: StreamForm, value: object) -> tuple[bytes, ...]:
    if form is StreamForm.EMPTY:
        return ()
    if form is StreamForm.EVENT:
        return (b"event: error\n" + data_event(value),)
    return (data_event(value), b"data: [DONE]\n\n")
