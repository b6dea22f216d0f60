"""
A client's request as the rooms behind the edge see it.
"""

from __future__ import annotations

from proxy.errors import BadRequestError
from proxy.server.body import Body, Counted, too_large
from proxy.server.request import Request
from proxy.upstream.wire import Incoming

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def check_target(request: Request) -> None:
    """
    Refuse what would make an open proxy of us: CONNECT and absolute-form targets.
    """
    if request.method == "CONNECT":
        raise BadRequestError(405, "CONNECT is not supported: this is no forward proxy.", "method_not_allowed")
    if not request.target.startswith("/"):
        raise BadRequestError(400, "The request target has to be a path.", "invalid_target")


def incoming(request: Request, body: bytes = b"") -> Incoming:
    """
    Return the request as a value.
    """
    return Incoming(request.method, request.target, request.headers, body)


async def read_body(request: Request, *, limit: int, silence: float) -> bytes:
    """
    Return the whole body; one larger than *limit* is refused before it is read where its length is stated, and one of
    which nothing more comes for *silence* seconds is given up.
    """
    body = request.body
    if body is None:
        return b""
    if isinstance(body, Counted) and body.length > limit:
        raise too_large(limit)
    _welcome(request)
    return await body.gather(limit, silence)


def upload_of(request: Request) -> Body | None:
    """
    Return the body as it arrives, or ``None`` where the request has none.
    """
    if request.body is not None:
        _welcome(request)
    return request.body


def _welcome(request: Request) -> None:
    """
    Answer ``Expect: 100-continue``; it is between the client and us.
    """
    if request.expects:
        request.expects = False
        if request.modern and not request.transport.is_closing():
            request.transport.write(_CONTINUE)
