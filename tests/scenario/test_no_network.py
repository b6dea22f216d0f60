"""
Everything works on a machine that reaches nothing but itself.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

import pytest

from proxy.tokens.vocabulary import Vocabulary
from tests.support.conversations import long_session


def is_here(host: object) -> bool:
    try:
        return host in {"localhost", ""} or ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False


class Loopback(socket.socket):
    """
    A socket that reaches this machine alone.
    """

    def connect(self, address: Any) -> None:
        self._check(address)
        super().connect(address)

    def connect_ex(self, address: Any) -> int:
        self._check(address)
        return super().connect_ex(address)

    def sendto(self, data: Any, *args: Any) -> int:
        self._check(args[-1])
        return super().sendto(data, *args)

    def _check(self, address: Any) -> None:
        if self.family != socket.AF_UNIX and not is_here(address[0]):
            reached.append(address)
            raise OSError(101, "Network is unreachable")


reached: list[Any] = []


@pytest.fixture
def unplugged(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """
    Pull the plug; what was tried all the same is listed.
    """
    reached.clear()
    resolve = socket.getaddrinfo

    def resolve_here(host: Any, *args: Any, **more: Any) -> Any:
        if not is_here(host.decode() if isinstance(host, bytes) else host):
            reached.append(host)
            raise socket.gaierror(-3, "Temporary failure in name resolution")
        return resolve(host, *args, **more)

    monkeypatch.setattr(socket, "socket", Loopback)
    monkeypatch.setattr(socket, "getaddrinfo", resolve_here)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/nowhere")
    return reached


async def test_counts_finds_windows_and_compacts_without_a_network(
    unplugged: list[Any], upstream_factory: Any, proxy_factory: Any, exact_counter: Any
) -> None:
    """
    Token tables, the table of windows, discovery and summaries: nothing is fetched, and nothing is even tried.
    """
    fresh = Vocabulary()
    fresh.load()
    upstream = await upstream_factory(window=8_000, counter=exact_counter, models_field="max_model_len")
    proxied = await proxy_factory(upstream.url, vocabulary=fresh, compaction={"minimum_threshold_tokens": 1})

    small = await proxied.chat([{"role": "user", "content": "hello"}], model="gpt-4o")
    large = await proxied.chat(long_session(14)[-1])
    await proxied.proxy.core.tasks.settled()

    assert (small.status, large.status, large.action) == (200, 200, "compacted")
    assert fresh.ready
    assert unplugged == []


def test_the_plug_is_really_pulled(unplugged: list[Any]) -> None:
    """
    A test of the test: what leaves this machine is refused, and noticed.
    """
    with socket.socket() as one, pytest.raises(OSError, match="unreachable"):
        one.connect(("192.0.2.1", 80))
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("example.org", 443)

    assert unplugged == [("192.0.2.1", 80), "example.org"]
