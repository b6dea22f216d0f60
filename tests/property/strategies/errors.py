"""
Refusals in the dialects of providers, gateways and relays: wrapped, nested, cut off, compressed, or no text at all.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.property.strategies.values import DIGITS, json_values

STATUSES = st.sampled_from([400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 424, 429, 500, 502, 503, 504, 529])
_KEYS = st.sampled_from(
    ["error", "errors", "message", "msg", "detail", "code", "type", "status", "n_ctx", "metadata", "raw", "loc", "x"]
)
_OVERFLOWS = st.sampled_from(
    [
        "This model's maximum context length is {} tokens. However, you requested {} tokens.",
        "prompt is too long: {} tokens > {} maximum",
        "the request exceeds the available context size ({} > {})",
        "输入长度 {} 超过最大上下文长度 {}",
    ]
)
_OTHERS = st.sampled_from(
    [
        "Incorrect API key provided.",
        "The server had an error while processing your request.",
        "Rate limit reached: limit {} per minute, try again in {} s.",
        "Unknown parameter: '{}'; did you mean '{}'?",
        "Request body of {} bytes is larger than {} bytes",
        "max_tokens must be at most {}, not {}",
        "You have {} credits and need {}.",
        "The response was filtered ({}, {}).",
        "model {} is being loaded, {} %",
    ]
)
_NUMBERS = st.integers(0, 10**7).map(str) | st.integers(0, 10**7).map("{:,}".format) | DIGITS


@dataclass(frozen=True)
class Failure:
    """
    An answer that is none: its *status*, its *headers* and the bytes of its *body*, of which *told* can be read.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    told: bytes


@st.composite
def _messages(draw: st.DrawFn, *, overflows: bool) -> str:
    """
    Return what a server says, with numbers of any size.
    """
    known = draw(st.one_of(_OVERFLOWS, _OTHERS) if overflows else _OTHERS)
    said = known.format(draw(_NUMBERS), draw(_NUMBERS))
    return draw(st.sampled_from([said, said, said * 40, said.upper(), f"x {said} y" * 3]) | st.text(max_size=60))


_DIALECTS: tuple[Callable[[str], Any], ...] = (
    lambda text: {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}},
    lambda text: {"type": "error", "error": {"type": "invalid_request_error", "message": text}, "request_id": "r"},
    lambda text: {"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT", "details": [{"reason": "x"}]}},
    lambda text: [{"error": {"code": 400, "message": text}}],
    lambda text: {"errors": [{"code": 5, "message": text}], "success": False},
    lambda text: {"object": "error", "message": text, "code": 40303},
    lambda text: {"error": text},
    lambda text: {"detail": [{"loc": ["body", "messages"], "msg": text, "type": "value_error"}]},
    lambda text: {"detail": text},
    lambda text: {"code": "x", "msg": text, "data": None},
    lambda text: {"__type": "ValidationException", "message": text},
    lambda text: {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps({"error": text})}}},
    lambda text: {"error": {"message": f"upstream said: {json.dumps({'error': {'message': text}})}"}},
    lambda text: {"error": {"message": f"BadRequestError: b'{text}'", "n_ctx": 8_192, "n_prompt_tokens": 9_000.0}},
)


def _written(value: Any, depth: int) -> bytes:
    for _ in range(depth):
        value = {"error": json.dumps(value)}
    return json.dumps(value, ensure_ascii=depth % 2 == 0).encode("utf-8", "replace")


def _page(text: str) -> bytes:
    style = "<style>h1{}</style><!-- padding -->"
    return f"<!DOCTYPE html><html>{style}<h1>{text}</h1>&#{'9' * 20};&lt;{'<!--' * 3}</html>".encode("utf-8", "replace")


@st.composite
def _bodies(draw: st.DrawFn, *, overflows: bool) -> bytes:
    """
    Return the body of a refusal.
    """
    text = draw(_messages(overflows=overflows))
    kind = draw(st.integers(0, 9))
    if kind <= 4:
        body = _written(draw(st.sampled_from(_DIALECTS))(text), draw(st.sampled_from([0, 0, 0, 1, 3, 8])))
    elif kind == 5:
        body = _page(text)
    elif kind == 6:
        body = text.encode("utf-8", "replace")
    elif kind == 7:
        body = b"data: " + _written({"error": {"message": text}}, 0) + b"\n\n"
    elif kind == 8:
        body = json.dumps(draw(json_values(keys=_KEYS, leaves=12))).encode()
    else:
        body = draw(st.binary(max_size=400))
    return draw(st.sampled_from([body, body, body, body[: len(body) * 2 // 3], b"\xff\xfe" + body, b" \n" + body]))


@st.composite
def failures(draw: st.DrawFn, *, overflows: bool = True) -> Failure:
    """
    Return a refusal as it is on the wire; with *overflows* some of them say that the request is too long.
    """
    told = draw(_bodies(overflows=overflows))
    named = draw(
        st.sampled_from(["application/json", "text/html; charset=latin-1", "text/plain", "", "text/event-stream"])
    )
    headers = (("Content-Type", named),) if named else ()
    if draw(st.integers(0, 4)) == 0:
        packed = gzip.compress(told, mtime=0)
        body = packed[: len(packed) // 2] if draw(st.booleans()) else packed
        legible = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(body)
        return Failure(draw(STATUSES), (*headers, ("Content-Encoding", "gzip")), body, legible)
    return Failure(draw(STATUSES), headers, told, told)
