"""
Connect to an upstream: its addresses, a forward proxy where one leads there, and TLS.
"""

from __future__ import annotations

import asyncio
import ssl

from aiohappyeyeballs import start_connection

from proxy.upstream.addresses import Addresses
from proxy.upstream.connection import Connection
from proxy.upstream.faults import ForwardProxyError
from proxy.upstream.proxies import ForwardProxy
from proxy.upstream.way import Way

_SECOND_ADDRESS_AFTER = 0.25
_LONGEST_HEAD = 64 * 1024
_STATUS_DIGITS = 3


async def dial(way: Way, addresses: Addresses, connection: Connection) -> None:
    """
    Connect *connection*. Raises ``TimeoutError``, other ``OSError`` or ``ForwardProxyError``.
    """
    async with asyncio.timeout(way.timeout):
        if way.proxy is None:
            await _connect(way.host, way.port, addresses, connection, tls=way.tls)
        elif way.tls is None:
            await _connect(way.proxy.host, way.proxy.port, addresses, connection, tls=way.proxy.tls)
        else:
            await _through(way, way.proxy, way.tls, addresses, connection)


async def _connect(
    host: str, port: int, addresses: Addresses, protocol: asyncio.Protocol, *, tls: ssl.SSLContext | None
) -> asyncio.Transport:
    loop = asyncio.get_running_loop()
    tried, sock = await addresses.of(host, port), None
    try:
        sock = await start_connection(tried, happy_eyeballs_delay=_SECOND_ADDRESS_AFTER)
        if len(tried) > 1:
            tried = addresses.reached(tried, sock.getpeername())
        name = host.rstrip(".") if tls is not None else None
        transport, _ = await loop.create_connection(lambda: protocol, sock=sock, ssl=tls, server_hostname=name)
    except BaseException:
        # Also where time ran out, ours or that of a client who left: an address may swallow all that it is sent.
        addresses.failed(host, port, tried)
        if sock is not None:
            sock.close()
        raise
    return transport


async def _through(
    way: Way, proxy: ForwardProxy, tls: ssl.SSLContext, addresses: Addresses, connection: Connection
) -> None:
    """
    Have the forward proxy lead to the upstream, and speak TLS with that.
    """
    opening = _Opening()
    transport = await _connect(proxy.host, proxy.port, addresses, opening, tls=proxy.tls)
    try:
        host = f"[{way.host}]" if ":" in way.host else way.host
        transport.write(_connect_head(f"{host}:{way.port}", proxy))
        await opening.opened
        name = way.host.rstrip(".")
        secured = await asyncio.get_running_loop().start_tls(transport, connection, tls, server_hostname=name)
    except BaseException:
        transport.abort()
        raise
    assert secured is not None
    connection.connection_made(secured)


def _connect_head(authority: str, proxy: ForwardProxy) -> bytes:
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    if proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    return "\r\n".join((*lines, "", "")).encode("idna" if not authority.isascii() else "ascii")


class _Opening(asyncio.Protocol):
    """
    Reads a forward proxy's answer to CONNECT, behind which the upstream waits to be spoken to.
    """

    def __init__(self) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._head = b""

    def data_received(self, data: bytes) -> None:
        """
        Take the head of the answer.
        """
        self._head += data
        complete = b"\r\n\r\n" in self._head
        if not self.opened.done() and (complete or len(self._head) > _LONGEST_HEAD):
            self._judge(self._head.split(b"\r\n", 1)[0].split(b" ", 2))

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002 - hung up is hung up
        """
        Note that the proxy hung up.
        """
        self._refuse("the forward proxy hung up")

    def _judge(self, line: list[bytes]) -> None:
        status = line[1].decode("latin-1") if len(line) > 1 and line[0].startswith(b"HTTP/1.") else ""
        if len(status) != _STATUS_DIGITS or not status.isdecimal():
            self._refuse("the forward proxy's answer is no HTTP")
        elif status.startswith("2"):
            self.opened.set_result(None)
        else:
            self._refuse(f"the forward proxy answered {status}")

    def _refuse(self, why: str) -> None:
        if not self.opened.done():
            self.opened.set_exception(ForwardProxyError(why))
