"""
One port for several workers: a listening socket for each, between which the kernel spreads connections.

The parent holds the sockets too, so that connections that wait for a worker outlive it and are served by the next one.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

BACKLOG = 1024
SocketAddress = tuple[Any, ...]
"""Host, port and, for IPv6, flow and scope."""


class SharedPort:
    """
    Listening sockets of *workers*, all on one port. Raises ``OSError`` where the port cannot be had.
    """

    def __init__(self, host: str, port: int, workers: int) -> None:
        # Another proxy that shares its port would be shared with, silently.
        check_free(host, port)
        self._addresses = _addresses(host, port)
        self._sockets: list[list[socket.socket]] = [[] for _ in range(workers)]
        for worker in range(workers):
            self.open(worker)

    @property
    def address(self) -> tuple[str, int]:
        """
        Host and port, the first of them where the host has several addresses.
        """
        sockname = self._sockets[0][0].getsockname()
        return str(sockname[0]), int(sockname[1])

    def open(self, worker: int) -> None:
        """
        Listen for *worker*, unless its sockets are open.
        """
        if self._sockets[worker]:
            return
        for index, (family, address) in enumerate(self._addresses):
            listener = _listen(family, address, shared=True)
            # A free port is chosen once, for the first worker; the others and later ones share it.
            self._addresses[index] = (family, (address[0], listener.getsockname()[1], *address[2:]))
            self._sockets[worker].append(listener)

    def close(self, worker: int) -> None:
        """
        Stop listening for *worker*: new connections go to the others.
        """
        for listener in self._sockets[worker]:
            listener.close()
        self._sockets[worker] = []

    def close_all(self) -> None:
        """
        Let go of every socket.
        """
        for worker in range(len(self._sockets)):
            self.close(worker)

    def take(self, worker: int) -> Sequence[socket.socket]:
        """
        Return the sockets of *worker* and close the others: for use in the worker's own process.
        """
        for other in range(len(self._sockets)):
            if other != worker:
                self.close(other)
        return self._sockets[worker]


def open_port(host: str, port: int) -> list[socket.socket]:
    """
    Listen for one process, at every address of *host* on one port. Raises ``OSError`` where the port cannot be had.

    The event loop would look the name up in threads, after which no process may be forked.
    """
    found: list[socket.socket] = []
    try:
        for family, address in _addresses(host, port):
            # Where any port will do, it is chosen once.
            chosen = found[0].getsockname()[1] if found else address[1]
            found.append(_listen(family, (address[0], chosen, *address[2:]), shared=False))
    except OSError as fault:
        for listener in found:
            listener.close()
        raise OSError(fault.errno, f"{fault.strerror}: {host}:{port}") from fault
    return found


def check_free(host: str, port: int) -> None:
    """
    Raise ``OSError`` where somebody listens on the port already, be it one who would share it.
    """
    for family, address in _addresses(host, port):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            _set_up(probe)
            try:
                probe.bind(address)
            except OSError as fault:
                raise OSError(fault.errno, f"{fault.strerror}: {host}:{port}") from fault


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, SocketAddress]]:
    found = dict.fromkeys(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE))
    known: list[tuple[socket.AddressFamily, SocketAddress]]
    known = [(family, address) for family, _, _, _, address in found]
    # A name may have addresses of a family that the system is without.
    return [(family, address) for family, address in known if _is_there(family)] or known


def _is_there(family: socket.AddressFamily) -> bool:
    try:
        socket.socket(family, socket.SOCK_STREAM).close()
    except OSError:
        return False
    return True


def _listen(family: socket.AddressFamily, address: SocketAddress, *, shared: bool) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        _set_up(listener)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.settimeout(0)
    except OSError:
        listener.close()
        raise
    return listener


def _set_up(listener: socket.socket) -> None:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if listener.family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
