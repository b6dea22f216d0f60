"""
What the system knows of the other side of a connection, where its own bytes do not tell.
"""

from __future__ import annotations

import asyncio
import select
import socket
from array import array

try:
    from fcntl import ioctl
    from termios import TIOCOUTQ
except ImportError:  # there are none on Windows
    ioctl = None  # type: ignore[assignment]

_SILENT_SECONDS = 60
_END = getattr(select, "POLLRDHUP", 0)  # Linux has it; the others tell the same by POLLHUP, which need not be asked for


def probe(transport: asyncio.Transport) -> None:
    """
    Have the system find out whether the other side is still there when it has been silent for long.
    """
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def probe_soon(transport: asyncio.Transport) -> None:
    """
    Have it find that out earlier than after the usual two hours.
    """
    if hasattr(socket, "TCP_KEEPIDLE"):  # there is none on macOS
        raw = transport.get_extra_info("socket")
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENT_SECONDS)


def not_taken(transport: asyncio.Transport) -> int:
    """
    Return how many bytes written to *transport* the other side has not taken; those that the system cannot count are left out.
    """
    held_by_the_system = array("i", [0])
    if ioctl is not None:
        try:
            ioctl(_number(transport), TIOCOUTQ, held_by_the_system)
        except OSError:
            held_by_the_system[0] = 0
    return transport.get_write_buffer_size() + held_by_the_system[0]


def has_left(transport: asyncio.Transport) -> bool:
    """
    Tell whether the other side has ended its half of the connection or all of it, however much of it is still unread.
    """
    if not hasattr(select, "poll"):  # there is none on Windows
        return False
    poll = select.poll()
    poll.register(_number(transport), _END)
    return bool(poll.poll(0))


def _number(transport: asyncio.Transport) -> int:
    number: int = transport.get_extra_info("socket").fileno()
    return number
