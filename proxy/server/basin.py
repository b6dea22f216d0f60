"""
The memory of a large body: set aside as stated, taken up only as the body comes, written to by the socket itself.
"""

from __future__ import annotations

import asyncio
import ctypes
import mmap
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import BytesIO
from typing import cast

# The loop of Windows reads first and copies then, beyond the end of a body: no basin there.
LARGE_BYTES = 4 * 1024 * 1024 if os.name == "posix" else sys.maxsize
"""Bytes from which a basin is worth its while; the C library takes as much from the system, and gives it back."""
_PAGE = 2 * 1024 * 1024
_ADVICE = getattr(mmap, "MADV_HUGEPAGE", None)  # Linux alone has it


class Basin:
    """
    Room for a body of *size* bytes, in the end a ``bytes`` object that nobody had to copy.
    """

    __slots__ = ("_at", "_memory", "_size", "_view")

    def __init__(self, size: int, pieces: Iterable[bytes]) -> None:
        # Zeros that nobody has looked at take no memory, and a stream over an object of its own shares it.
        self._size = size
        self._memory = BytesIO(bytes(-(-size // _PAGE) * _PAGE))
        self._view = self._memory.getbuffer()
        self._at = 0
        _take_large_pages(self._view)
        for piece in pieces:
            self._view[self._at : self._at + len(piece)] = piece
            self._at += len(piece)

    def free(self) -> memoryview:
        """
        Return what has not been written to.
        """
        return self._view[self._at : self._size]

    def fill(self, size: int) -> None:
        """
        Note that *size* bytes more have been written.
        """
        self._at += size

    def whole(self) -> bytes:
        """
        Return the body, once it is there; nothing can be written any more.
        """
        self._view.release()
        self._memory.truncate(self._size)
        return self._memory.getvalue()


class Filling(asyncio.BufferedProtocol):
    """
    Has a transport read into a basin for a while; all else is told to the protocol that it takes the place of.

    *filled* is called with the number of bytes that came.
    """

    def __init__(self, transport: asyncio.Transport, basin: Basin, filled: Callable[[int], None]) -> None:
        self._transport = transport
        self._basin = basin
        self._filled = filled
        self.owner = cast("asyncio.Protocol", transport.get_protocol())
        transport.set_protocol(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - what is missing counts
        """
        Return where bytes may be written: never those of the next request.
        """
        return self._basin.free()

    def buffer_updated(self, nbytes: int) -> None:
        """
        Note what was written.
        """
        self._basin.fill(nbytes)
        self._filled(nbytes)

    def eof_received(self) -> bool | None:
        """
        Pass it on.
        """
        return self.owner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """
        Pass it on.
        """
        self.owner.connection_lost(exc)

    def pause_writing(self) -> None:
        """
        Pass it on.
        """
        self.owner.pause_writing()

    def resume_writing(self) -> None:
        """
        Pass it on.
        """
        self.owner.resume_writing()

    def leave(self) -> None:
        """
        Let the transport go on as before.
        """
        self._transport.set_protocol(self.owner)
        del self._basin, self._filled  # a transport does not forget whom it served


def _take_large_pages(view: memoryview) -> None:
    """
    Ask for pages of 2 MB: to take up 20 MB in pages of 4 KB may take longer than all else that is done with them.
    """
    if _ADVICE is None:
        return
    start = ctypes.addressof(ctypes.c_char.from_buffer(view))
    begin = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    with suppress(OSError, AttributeError, TypeError):
        libc = ctypes.CDLL(None)
        libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(start + len(view) - begin), ctypes.c_int(_ADVICE))
