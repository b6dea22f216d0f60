import orjson
import pytest

from proxy.errors import (
    BadRequestError,
    StoreError,
    UpstreamBrokenError,
    UpstreamTimeoutError,
    UpstreamUnreachableError,
)
from proxy.server.failures import answer_for, error_event


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (BadRequestError(413, "too large", "request_too_large"), 413, "request_too_large"),
        (UpstreamUnreachableError("up", "x"), 502, "upstream_unreachable"),
        (UpstreamTimeoutError("up", "x"), 504, "upstream_timeout"),
        (UpstreamBrokenError("up", "x"), 502, "upstream_broken"),
        (StoreError("sqlite", "x"), 500, "proxy_error"),
    ],
)
async def test_tells_each_failure_by_its_own_status_and_code(error, status, code):
    """
    In OpenAI's shape, so that SDKs raise what their users catch.
    """
    answer = answer_for(error)

    assert (answer.status, orjson.loads(await answer.read())["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (b'{"error":{"message":"m","code":"c"}}', "m", "c"),
        (b'{"error":"plain"}', "plain", "400"),
        (b'{"detail":1}', '{"detail":1}', "400"),
        (b"[1]", "[1]", "400"),
        (b"\xff", "\ufffd", "400"),
        (b"", "upstream answered 400", "400"),
    ],
)
def test_finds_code_and_message_in_any_error_body(body, message, code):
    """
    Servers disagree on the shape; a late error carries what there is.
    """
    error = orjson.loads(error_event(400, body).removeprefix(b"data: "))["error"]

    assert (error["message"], error["code"], error["status"]) == (message, code, 400)
