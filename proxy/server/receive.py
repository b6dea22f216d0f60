"""
A client's request as the rooms behind the edge see it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from aiohttp import StreamReader, web
from aiohttp.http import HttpVersion11

from proxy.errors import BadRequestError
from proxy.upstream.wire import Headers, Incoming

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def headers_of(request: web.BaseRequest) -> Headers:
    """
    Return the headers as they came.
    """
    return tuple(
        (name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape"))
        for name, value in request.raw_headers
    )


def check_target(request: web.BaseRequest) -> None:
    """
    Refuse what would make an open proxy of us: CONNECT and absolute-form targets.
    """
    if request.method == "CONNECT":
        raise BadRequestError(405, "CONNECT is not supported: this is no forward proxy.", "method_not_allowed")
    if not request.raw_path.startswith("/"):
        raise BadRequestError(400, "The request target has to be a path.", "invalid_target")


def check_head(request: web.BaseRequest, *, limit: int) -> None:
    """
    Refuse a head that is too large as a whole; single lines were measured by the parser.
    """
    if len(request.raw_path) + sum(len(name) + len(value) + 4 for name, value in request.raw_headers) > limit:
        raise BadRequestError(431, f"The headers are larger than {limit} bytes.", "headers_too_large")


def incoming(request: web.BaseRequest, headers: Headers, body: bytes = b"") -> Incoming:
    """
    Return the request as a value.
    """
    return Incoming(request.method, request.raw_path, headers, body)


async def read_body(request: web.BaseRequest, *, limit: int, silence: float) -> bytes:
    """
    Return the whole body; one larger than *limit* is refused before it is read where its length is stated, and one of
    which nothing more comes for *silence* seconds is given up.
    """
    stated = request.headers.get("Content-Length")
    if stated is not None and int(stated) > limit:
        raise _too_large(limit)
    await _welcome(request)
    chunks: list[bytes] = []
    size = 0
    try:
        while chunk := await _piece(request.content, silence):
            size += len(chunk)
            if size > limit:
                raise _too_large(limit)
            chunks.append(chunk)
    except web.RequestPayloadError as exc:
        raise BadRequestError(400, "The request body is no valid HTTP.", "invalid_body") from exc
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def _piece(content: StreamReader, silence: float) -> bytes:
    try:
        async with asyncio.timeout(silence):
            return await content.readany()
    except TimeoutError:
        # It may be we who had no time.
        if piece := content.read_nowait():
            return piece
        raise BadRequestError(408, f"Nothing more of the body came for {silence:g} s.", "body_timeout") from None


async def upload_of(request: web.BaseRequest) -> AsyncIterator[bytes] | None:
    """
    Return the body as it arrives, or ``None`` where the request has none.
    """
    if not request.can_read_body:
        return None
    await _welcome(request)
    return request.content.iter_any()


async def _welcome(request: web.BaseRequest) -> None:
    """
    Answer ``Expect: 100-continue``; it is between the client and us.
    """
    expect = request.headers.get("Expect")
    if expect is not None and expect.lower() == "100-continue" and request.version >= HttpVersion11:
        await request.writer.write(_CONTINUE)
        request.writer.output_size = 0


def _too_large(limit: int) -> BadRequestError:
    return BadRequestError(413, f"The request body is larger than {limit} bytes.", "request_too_large")
