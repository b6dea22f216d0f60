"""
Failures told to clients in OpenAI's shape.
"""

from __future__ import annotations

from proxy.chat.errors import error_body
from proxy.chat.json import loads
from proxy.chat.sse import data_event
from proxy.errors import BadRequestError, ProxyError, UpstreamError, UpstreamTimeoutError, UpstreamUnreachableError
from proxy.upstream.wire import Answer, Headers

JSON: Headers = (("content-type", "application/json"),)
# Clients that honour it do not send the same body three times for a fault that will not pass.
NO_RETRY = ("x-should-retry", "false")
_SERVER = "server_error"


def refusal(status: int, message: str, code: str, *, headers: Headers = (), kind: str = "") -> Answer:
    """
    Return an error answer of our own.
    """
    kind = kind or (_SERVER if status >= 500 else "invalid_request_error")
    return Answer.of_bytes(status, (*JSON, *headers), error_body(message, kind=kind, code=code))


def answer_for(exc: ProxyError) -> Answer:
    """
    Return what a client is told when no answer could be had: 502 or 504 for the upstream, 4xx for its own request.
    """
    if isinstance(exc, BadRequestError):
        return refusal(exc.status, exc.message, exc.code or "bad_request")
    if isinstance(exc, UpstreamTimeoutError):
        return refusal(504, str(exc), "upstream_timeout")
    if isinstance(exc, UpstreamUnreachableError):
        return refusal(502, str(exc), "upstream_unreachable")
    if isinstance(exc, UpstreamError):
        return refusal(502, str(exc), "upstream_broken")
    return refusal(500, "The proxy failed.", "proxy_error", headers=(NO_RETRY,))


def broken_stream_event(exc: ProxyError) -> bytes:
    """
    Return the SSE event that says that a stream did not end but broke.
    """
    return data_event({"error": {"message": str(exc), "type": _SERVER, "param": None, "code": "upstream_broken"}})


def error_event(status: int, body: bytes) -> bytes:
    """
    Return an SSE event for an error answer that came when the status line was gone: status, code and message.
    """
    error = _error_in(body)
    shaped = {
        "message": error.get("message") or body[:2000].decode("utf-8", "replace") or f"upstream answered {status}",
        "type": error.get("type") or (_SERVER if status >= 500 else "invalid_request_error"),
        "param": error.get("param"),
        "code": error.get("code") or str(status),
        "status": status,
    }
    return data_event({"error": shaped})


def place_of(exc: BaseException) -> str:
    """
    Return the file and line in which *exc* was raised.
    """
    trace = exc.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def _error_in(body: bytes) -> dict[str, object]:
    try:
        data = loads(body)
    except ValueError:
        return {}
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else {}
