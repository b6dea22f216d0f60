"""
Addresses of hosts, asked for once a minute; those that led nowhere come last for a while.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable, Sequence

from aiohappyeyeballs import AddrInfoType

_SECONDS = 60.0
_LAST_FOR_SECONDS = 300.0
"""How long an address that led nowhere is tried after the others; a host that is back gets its share again after that."""
_Place = tuple[object, object]


class Addresses:
    """
    Remembers what the resolver said; those who ask at the same time share one question.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], tuple[float, asyncio.Future[list[AddrInfoType]]]] = {}
        self._last: dict[_Place, float] = {}

    async def of(self, host: str, port: int) -> Sequence[AddrInfoType]:
        """
        Return where *host* can be reached, in the order to try. Raises ``OSError``.
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
        found = await asyncio.shield(asked)
        if not self._last:
            return found
        now = loop.time()
        return sorted(found, key=lambda info: self._last.get(_place(info[4]), now) > now)

    def reached(self, tried: Sequence[AddrInfoType], peer: Sequence[object]) -> Sequence[AddrInfoType]:
        """
        Return the one of those *tried* in this order that is *peer*, which answered; note that none before it did.
        """
        places, place = [_place(info[4]) for info in tried], _place(peer)
        self._last.pop(place, None)
        if place not in places:
            return tried
        number = places.index(place)
        if number:
            self._put_last(places[:number])
        return tried[number : number + 1]

    def failed(self, host: str, port: int, tried: Sequence[AddrInfoType]) -> None:
        """
        Note that nothing answers, or not as it should, where *host* was; ask for it again next time.
        """
        self._found.pop((host, port), None)
        self._put_last(_place(info[4]) for info in tried)

    def _put_last(self, places: Iterable[_Place]) -> None:
        now = asyncio.get_running_loop().time()
        self._last = {place: until for place, until in self._last.items() if until > now}
        self._last |= dict.fromkeys(places, now + _LAST_FOR_SECONDS)

    def _check(self, host: str, port: int, asked: asyncio.Future[list[AddrInfoType]]) -> None:
        if asked.cancelled() or asked.exception() is not None:
            self._found.pop((host, port), None)


def _place(address: Sequence[object]) -> _Place:
    # Of the other parts of an IPv6 address the socket may tell more than the resolver.
    return address[0], address[1]


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
