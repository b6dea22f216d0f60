"""
The value onto the wire, faults included.
"""

from __future__ import annotations

import asyncio
import socket
import struct

from aiohttp import web
from multidict import CIMultiDict

from proxy.simulator.reply import Ending, Reply

_LINGER_AND_RESET = struct.pack("ii", 1, 0)


async def send(
    request: web.Request, reply: Reply, *, chunk_delay: float, stopping: asyncio.Event
) -> web.StreamResponse:
    """
    Send *reply* as the answer to *request*; what hangs is let go when the server is *stopping*.
    """
    if reply.gate is not None:
        await reply.gate.wait()
    if reply.ending is Ending.SILENT:
        await stopping.wait()
        return _broken(request)
    if reply.before and request.transport is not None:
        request.transport.write(reply.before)
    if reply.ending is Ending.SHORT:
        return _short(request, reply)
    if reply.chunks is None and reply.ending is not Ending.CLEAN:
        return _broken(request, reset=reply.ending is Ending.RESET)
    if reply.chunks is None:
        response = await _whole(request, reply)
    else:
        response = await _end(request, reply, await _stream(request, reply, chunk_delay), stopping)
    if reply.hang_up and request.transport is not None:
        request.transport.close()
    return response


async def _whole(request: web.Request, reply: Reply) -> web.StreamResponse:
    response = web.Response(status=reply.status, headers=CIMultiDict(reply.headers), body=reply.body)
    if reply.close:
        response.force_close()
    await response.prepare(request)
    await response.write_eof()
    return response


async def _stream(request: web.Request, reply: Reply, chunk_delay: float) -> web.StreamResponse:
    response = web.StreamResponse(status=reply.status, headers=CIMultiDict(reply.headers))
    response.enable_chunked_encoding()
    if reply.close:
        response.force_close()
    await response.prepare(request)
    for chunk in reply.chunks or ():
        await response.write(chunk)
        await asyncio.sleep(chunk_delay)
    return response


async def _end(
    request: web.Request, reply: Reply, response: web.StreamResponse, stopping: asyncio.Event
) -> web.StreamResponse:
    if reply.ending is Ending.CLEAN:
        await response.write_eof()
        return response
    if reply.ending is Ending.HANG:
        await stopping.wait()
        return _broken(request)
    await asyncio.sleep(reply.pause_seconds)
    if reply.ending is Ending.HALF_CLOSED and request.transport is not None:
        request.transport.write_eof()
        await stopping.wait()
    if reply.ending is Ending.BAD_CHUNK and request.transport is not None:
        request.transport.write(b"this is no size\r\nrubbish\r\n")
    return _broken(request, reset=reply.ending is Ending.RESET)


def _short(request: web.Request, reply: Reply) -> web.StreamResponse:
    transport = request.transport
    if transport is not None:
        names = [*reply.headers, ("Content-Length", str(len(reply.body)))]
        head = "".join(f"{name}: {value}\r\n" for name, value in names)
        transport.write(f"HTTP/1.1 {reply.status} OK\r\n{head}\r\n".encode() + reply.body[: len(reply.body) // 2])
    return _broken(request)


def _broken(request: web.Request, *, reset: bool = False) -> web.StreamResponse:
    """
    Close the connection under the answer: what was written goes out, nothing after it does.
    """
    transport = request.transport
    if transport is not None and reset:
        peer = transport.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_AND_RESET)
        transport.abort()
    elif transport is not None:
        transport.close()
    return web.Response()
