"""
Addresses of hosts, asked for once a minute.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence

from aiohappyeyeballs import AddrInfoType

_SECONDS = 60.0


class Addresses:
    """
    Remembers what the resolver said; those who ask at the same time share one question.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], tuple[float, asyncio.Future[list[AddrInfoType]]]] = {}

    async def of(self, host: str, port: int) -> Sequence[AddrInfoType]:
        """
        Return where *host* can be reached. Raises ``OSError``.
        """
        literal = _literal(host, port)
        if literal is not None:
            return [literal]
        loop = asyncio.get_running_loop()
        until, asked = self._found.get((host, port), (0.0, None))
        if asked is None or loop.time() >= until:
            asked = asyncio.ensure_future(_resolved(host, port))
            asked.add_done_callback(lambda done: self._check(host, port, done))
            self._found[host, port] = loop.time() + _SECONDS, asked
        # Whoever gives up does not take the answer from the others.
        return await asyncio.shield(asked)

    def forget(self, host: str, port: int) -> None:
        """
        Ask again next time: nothing answers where *host* was.
        """
        self._found.pop((host, port), None)

    def _check(self, host: str, port: int, asked: asyncio.Future[list[AddrInfoType]]) -> None:
        if asked.cancelled() or asked.exception() is not None:
            self.forget(host, port)


async def _resolved(host: str, port: int) -> list[AddrInfoType]:
    loop = asyncio.get_running_loop()
    return [*await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)]


def _literal(host: str, port: int) -> AddrInfoType | None:
    try:
        six = ipaddress.ip_address(host).version == 6
    except ValueError:
        return None
    family = socket.AF_INET6 if six else socket.AF_INET
    address = (host, port, 0, 0) if six else (host, port)
    return family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address
