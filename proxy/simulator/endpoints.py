"""
Models, embeddings, audio, odd answers, and the echo of all other paths.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable

from proxy.chat.messages import Message
from proxy.chat.sse import data_event
from proxy.simulator.answers import CREATED
from proxy.simulator.counting import Counter
from proxy.simulator.received import Received
from proxy.simulator.reply import Headers, Reply, json_reply, sse_reply
from proxy.simulator.settings import SimulatorSettings

_BINARY = bytes(range(256)) * 64
_LARGE_EVENTS = 2_000
_DIMENSIONS = 8


def other(received: Received, settings: SimulatorSettings, counter: Counter) -> Reply:
    """
    Answer whatever is no inference call.
    """
    tail = "/" + received.path.partition("/v1/")[2] if "/v1/" in received.path else received.path
    if tail == "/models" or tail.startswith("/models/"):
        return _models(tail, settings)
    if tail == "/embeddings" and received.method == "POST":
        return _embeddings(received, counter)
    if tail.startswith("/audio/"):
        return _audio(received)
    if tail in {"/props", "/api/show"} and settings.native_window:
        return _native_window(tail, settings)
    odd = _ODD.get(tail)
    return odd(received) if odd is not None else echo(received)


def echo(received: Received) -> Reply:
    """
    Tell what was received.
    """
    return json_reply(
        {
            "method": received.method,
            "path": received.path,
            "query": received.query,
            "headers": [list(pair) for pair in received.headers],
            "sha256": hashlib.sha256(received.body).hexdigest(),
            "size": len(received.body),
        },
        headers=_cookies(),
    )


def model_entry(name: str, settings: SimulatorSettings) -> Message:
    """
    Return one entry of the list of models, with the window in the field that settings name.
    """
    entry: Message = {"id": name, "object": "model", "created": CREATED, "owned_by": "simulator"}
    if settings.models_field is None or settings.window is None:
        return entry
    outer, _, inner = settings.models_field.partition(".")
    return {**entry, outer: {inner: settings.window} if inner else settings.window}


def _models(tail: str, settings: SimulatorSettings) -> Reply:
    name = tail.removeprefix("/models").removeprefix("/")
    if not name:
        return json_reply({"object": "list", "data": [model_entry(model, settings) for model in settings.models]})
    if name in settings.models:
        return json_reply(model_entry(name, settings))
    error = {"message": f"The model '{name}' does not exist", "type": "invalid_request_error", "param": "model"}
    return json_reply({"error": {**error, "code": "model_not_found"}}, status=404)


def _native_window(tail: str, settings: SimulatorSettings) -> Reply:
    if tail == "/props":
        return json_reply({"default_generation_settings": {"n_ctx": settings.window}, "total_slots": 1})
    return json_reply({"model_info": {"general.architecture": "sim", "sim.context_length": settings.window}})


def _embeddings(received: Received, counter: Counter) -> Reply:
    given = received.fields.get("input", "")
    texts = [str(text) for text in given] if isinstance(given, list) else [str(given)]
    data = [{"object": "embedding", "index": index, "embedding": _vector(text)} for index, text in enumerate(texts)]
    tokens = sum(counter.text(text) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json_reply({"object": "list", "data": data, "model": received.model, "usage": usage})


def _vector(text: str) -> list[float]:
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    return [byte / 255 for byte in digest[:_DIMENSIONS]]


def _audio(received: Received) -> Reply:
    kind = received.header("content-type") or ""
    boundary = kind.partition("boundary=")[2].strip('"').encode("utf-8", "replace")
    intact = bool(boundary) and received.body.rstrip().endswith(b"--" + boundary + b"--")
    digest = hashlib.sha256(received.body).hexdigest()
    return json_reply({"text": "simulated", "sha256": digest, "size": len(received.body), "multipart_intact": intact})


def _cookies() -> Headers:
    return (("Set-Cookie", "one=1; Path=/"), ("Set-Cookie", "two=2; Path=/"))


def _large(_: Received) -> Reply:
    events = [data_event({"index": index, "filler": "x" * 512}) for index in range(_LARGE_EVENTS)]
    return sse_reply((*events, b"data: [DONE]\n\n"))


def _binary(_: Received) -> Reply:
    return Reply(headers=(("Content-Type", "application/octet-stream"),), body=_BINARY)


def _gzip(_: Received) -> Reply:
    headers = (("Content-Type", "application/octet-stream"), ("Content-Encoding", "gzip"))
    return Reply(headers=headers, body=gzip.compress(_BINARY, mtime=0))


_ODD: dict[str, Callable[[Received], Reply]] = {
    "/nothing": lambda _: Reply(status=204, headers=()),
    "/unchanged": lambda _: Reply(status=304, headers=(("ETag", '"simulated"'),)),
    "/redirect": lambda _: Reply(status=307, headers=(("Location", "/v1/models"),)),
    "/binary": _binary,
    "/gzip": _gzip,
    "/large": _large,
}
