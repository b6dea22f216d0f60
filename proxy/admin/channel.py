"""
The way to another process: questions and answers on a Unix socket, each a length in four bytes and JSON.

The sockets lie in a folder that nobody but the user of the proxy can enter.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import structlog

from proxy.admin.questions import Question
from proxy.errors import BadRequestError, ProxyError

log = structlog.get_logger()
_LENGTH_BYTES = 4
_FAULTS = (ArithmeticError, LookupError, OSError, ProxyError, RuntimeError, TypeError, ValueError)
"""What a question may run into without harm; its text stays here."""


@dataclass(frozen=True, slots=True)
class Desk:
    """
    What one process answers, by name: questions once, streams for as long as somebody listens.
    """

    questions: Mapping[str, Question]
    streams: Mapping[str, Callable[[], AsyncIterator[Any]]] = field(default_factory=dict)


async def answer_on(path: Path, desk: Desk) -> asyncio.Server:
    """
    Answer on the socket *path*; one that an earlier worker left there is replaced (the loop does that).
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _answer(desk, await read(reader), writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # whoever asked has left, or the loop ends, which asyncio before 3.12 would report as a fault
        finally:
            writer.close()

    return await asyncio.start_unix_server(serve, path)


@asynccontextmanager
async def asked(path: Path, name: str, details: Any) -> AsyncIterator[asyncio.StreamReader]:
    """
    Ask, and hand out where the answers come. Raises ``OSError`` where nobody listens.
    """
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        _write(writer, [name, details])
        yield reader
    finally:
        writer.close()


async def read(reader: asyncio.StreamReader) -> Any:
    """
    Return the next value. Raises ``IncompleteReadError`` at the end.
    """
    size = int.from_bytes(await reader.readexactly(_LENGTH_BYTES), "big")
    return orjson.loads(await reader.readexactly(size))


async def _answer(desk: Desk, asking: Any, writer: asyncio.StreamWriter) -> None:
    name, details = asking
    try:
        if name in desk.questions:
            _write(writer, {"answer": await desk.questions[name](details)})
        elif name in desk.streams:
            async for event in desk.streams[name]():
                _write(writer, {"answer": event})
                await writer.drain()
        else:
            _write(writer, {"unknown": name})
    except BadRequestError as fault:
        _write(writer, {"refused": [fault.status, fault.message, fault.code]})
    except _FAULTS:
        if writer.is_closing():
            return
        log.exception("admin.failed", question=name)
        _write(writer, {})
    await writer.drain()


def _write(writer: asyncio.StreamWriter, value: Any) -> None:
    data = orjson.dumps(value)
    writer.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
