"""
Faults of upstreams and of clients, for scenarios and for the soak; and what a client may be told of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from proxy.chat.json import loads
from proxy.simulator.reply import SSE_TYPE
from proxy.simulator.steps import (
    Step,
    drip,
    empty_stream,
    giant_event,
    gzipped,
    half_closed,
    header_bomb,
    informational,
    invalid_utf8,
    lying_content_length,
    malformed_chunking,
    raw,
    reset_at_once,
    reset_midstream,
    sse_error,
    status,
    then_hang_up,
    truncated_gzip,
)
from tests.support.edge import Answered

DEEP = b"[" * 200 + b"]" * 200
ODD_JSON = b'{"choices":[],"choices":[{"index":0,"message":{"role":"assistant","content":"x"}}],"n":NaN,"u":1e999}'

UPSTREAM: Mapping[str, Callable[[], Step]] = {
    "reset at once": reset_at_once,
    "reset in the middle": lambda: reset_midstream(2),
    "closed in the middle": lambda: reset_midstream(2, clean_close=True),
    "half closed": half_closed,
    "malformed chunking": malformed_chunking,
    "too short a body": lying_content_length,
    "truncated gzip": truncated_gzip,
    "gzip": gzipped,
    "single bytes": lambda: drip(1),
    "informational answers": lambda: informational(200),
    "hung up after the answer": then_hang_up,
    "many headers": lambda: header_bomb(400, size=100),
    "more headers than anybody reads": lambda: header_bomb(3_000, size=10),
    "a header of 100 KB": lambda: header_bomb(1, size=100_000),
    "a header of a megabyte": lambda: header_bomb(1, size=1_000_000),
    "no UTF-8": invalid_utf8,
    "an event of four megabytes": giant_event,
    "an empty stream": empty_stream,
    "an empty body": lambda: raw(body=b""),
    "no JSON": lambda: raw(body=b"<html>oops</html>"),
    "deep JSON": lambda: raw(body=b'{"choices":' + DEEP + b"}"),
    "odd JSON": lambda: raw(body=ODD_JSON),
    "huge integers": lambda: raw(body=b'{"choices":[],"usage":{"prompt_tokens":' + b"9" * 5_000 + b"}}"),
    "a list": lambda: raw(body=b"[1,2]"),
    "a stream of rubbish": lambda: raw(headers=(SSE_TYPE,), chunks=(b"\xff\xfe\n\n", b"data: {\n\n", b"data: NaN\n\n")),
    "a deep frame": lambda: raw(headers=(SSE_TYPE,), chunks=(b'data: {"choices":' + DEEP + b"}\n\n",)),
    "an error in a stream": lambda: sse_error("the model fell over"),
    "an error after some chunks": lambda: sse_error("the model fell over", after_chunks=2),
    "a late status 500": lambda: status(500),
    "an error page": lambda: status(502, body=b"<html>Bad Gateway</html>", headers=(("Content-Type", "text/html"),)),
    "a status of its own": lambda: status(529, body=b"overloaded"),
    "an error with no body": lambda: status(503, body=b""),
}
"""
Each is one step of the simulator.
"""


_OWN_WORDS = frozenset({b"<html>Bad Gateway</html>", b"overloaded", b""})


def verdict(answer: Answered) -> str:
    """
    Say what a client was told: an answer, an error in OpenAI's shape, the upstream's own words, or a connection that
    visibly broke. Anything else is wrong.
    """
    if not answer.complete:
        return "broken"
    if answer.status < 400:
        return "answered"
    if answer.body in _OWN_WORDS:
        return "passed"
    error = loads(answer.body)["error"]
    assert isinstance(error["message"], str)
    assert error["message"]
    assert isinstance(error["type"], str)
    return "refused"
