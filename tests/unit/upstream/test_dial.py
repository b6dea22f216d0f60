import asyncio
import socket
from contextlib import ExitStack, asynccontextmanager, contextmanager

import pytest

from proxy.errors import UpstreamTimeoutError, UpstreamUnreachableError
from proxy.upstream import addresses, dial, proxies
from proxy.upstream.client import UpstreamClient
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.wire import Outgoing
from tests.support.certificates import made_in
from tests.support.edge import plain, served_by
from tests.support.forward import forwarding
from tests.support.reached import reached

BEHIND = "https://localhost:8443/v1"


@pytest.fixture(autouse=True)
def loopback_is_proxied(monkeypatch):
    """
    Let these tests' forward proxies lead to loopback, which is never proxied otherwise.
    """
    monkeypatch.setattr(proxies, "_is_loopback", lambda _: False)


async def test_speaks_tls_through_a_forward_proxy(certificate):
    """
    With the upstream, whose name the proxy is asked for; the tunnel is kept for the next request.
    """
    async with reached(tls=certificate) as up, forwarding(up.upstream.port) as forward:
        environ = {"https_proxy": f"http://us%20er:p%40w@127.0.0.1:{forward.port}"}
        client = UpstreamClient({"up": UpstreamSettings(base_url=BEHIND, ca_file=certificate[0])}, environ=environ)
        for body in (b"1", b"2" * 1_000_000):
            answer = await client.send(Outgoing("up", "POST", BEHIND + "/x?k=v", (), body))
            assert (answer.status, await answer.read()) == (200, b"{}")
        await client.close()

    assert forward.heads == [
        b"CONNECT localhost:8443 HTTP/1.1\r\nHost: localhost:8443\r\nProxy-Authorization: Basic dXMgZXI6cEB3\r\n\r\n"
    ]
    first, second = up.upstream.received
    assert (first.target, first.header("host"), second.body) == ("/v1/x?k=v", "localhost:8443", b"2" * 1_000_000)
    assert first.header("proxy-authorization") is None


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_speaks_tls_with_a_forward_proxy(certificate, monkeypatch, scheme):
    """
    Within it TLS with the upstream, too, where that speaks it.
    """
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    tls = certificate if scheme == "https" else None
    async with reached(tls=tls) as up:
        async with forwarding(up.upstream.port, tls=served_by(*certificate)) as forward:
            port = forward.port if tls else None
            environ = {"all_proxy": f"https://localhost:{port}"}
            if tls is None:
                forward.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
                environ = {"all_proxy": f"https://localhost:{forward.port}"}
            url = f"{scheme}://localhost:8443/v1"
            client = UpstreamClient({"up": UpstreamSettings(base_url=url)}, environ=environ)
            answer = await asyncio.wait_for(client.send(Outgoing("up", "GET", url + "/x", (), b"")), 5)
            assert (answer.status, await answer.read()) == (200, b"{}")
            await client.close()

        wanted = b"CONNECT localhost:8443 " if tls else b"GET http://localhost:8443/v1/x "
        assert forward.heads[0].startswith(wanted)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "the forward proxy answered 407"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno", "the forward proxy answered 502"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "the forward proxy's answer is no HTTP"),
        (b"x" * 70_000, "the forward proxy's answer is no HTTP"),
        (b"", "the forward proxy hung up"),
        (b"HTTP/1.1 200 OK", "the forward proxy hung up"),
    ],
)
async def test_tells_what_a_forward_proxy_says(answer, told):
    """
    Nothing of the request has left then.
    """
    async with forwarding(9, answer=answer) as forward:
        environ = {"HTTPS_PROXY": f"http://127.0.0.1:{forward.port}"}
        async with reached(environ=environ, base_url=BEHIND) as r:
            with pytest.raises(UpstreamUnreachableError, match=told):
                await asyncio.wait_for(r.send(), 5)


@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": "http://127.0.0.1:port"},
        {"base_url": "http://127.0.0.1:99999"},
        {"base_url": "http://" + "\xfc" * 70},
        {"base_url": "https://127.0.0.1", "ca_file": "there/is/none.pem"},
    ],
)
async def test_tells_settings_that_lead_nowhere(settings):
    """
    A port that is none, a name that cannot be, authorities that are gone.
    """
    async with reached(**settings) as r:
        with pytest.raises(UpstreamUnreachableError):
            await r.send()


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:1", "http://127.0.0.1:port", "http://"])
async def test_tells_a_forward_proxy_that_is_none(address):
    """
    Every request says so, and none goes another way.
    """
    async with reached(environ={"HTTP_PROXY": address}) as r:
        with pytest.raises(UpstreamUnreachableError, match="forward proxy"):
            await r.send()
        assert r.upstream.connections == 0


async def test_tells_certificates_that_are_not_trusted(certificate):
    """
    Of an unknown authority, or for another name.
    """
    async with reached(tls=certificate) as r:
        with pytest.raises(UpstreamUnreachableError, match="certificate"):
            await r.send()
    async with reached(tls=certificate, ca_file=certificate[0]) as r:
        other = UpstreamSettings(base_url=f"https://127.0.0.1:{r.upstream.port}", ca_file=certificate[0])
        r.client, r.url = r.client.renewed({"up": other}), other.base_url
        with pytest.raises(UpstreamUnreachableError, match="certificate"):
            await r.send()


@pytest.mark.parametrize("named", ["ca_file", "SSL_CERT_FILE"])
async def test_authorities_that_were_written_anew_count_once_it_is_told_so(certificate, tmp_path, monkeypatch, named):
    """
    Under the same name, as a volume of Kubernetes has it; nothing is read for each request.
    """
    (tmp_path / "other").mkdir()
    file, _ = made_in(tmp_path / "other")
    if named == "SSL_CERT_FILE":
        monkeypatch.setenv(named, str(file))
    async with reached(tls=certificate, **({"ca_file": file} if named == "ca_file" else {})) as r:
        with pytest.raises(UpstreamUnreachableError, match="certificate"):
            await r.send()
        file.write_bytes(certificate[0].read_bytes())
        with pytest.raises(UpstreamUnreachableError, match="certificate"):
            await r.send()
        r.client.look_again()
        assert await r.ask() == (200, b"{}")
        connections = r.upstream.connections
        r.client.look_again()
        assert await r.ask() == (200, b"{}")
        assert r.upstream.connections == connections


async def test_keeps_connections_with_tls(certificate):
    """
    Large bodies pass both ways.
    """
    async with reached(tls=certificate, ca_file=certificate[0]) as r:
        for _ in range(3):
            assert await r.ask(body=b"x" * 2_000_000) == (200, b"{}")

        assert r.upstream.connections == 1
        assert [len(one.body) for one in r.upstream.received] == [2_000_000] * 3


@asynccontextmanager
async def greeting(words):
    """
    A server that says *words* to everybody, and then waits for them to leave.
    """
    writers = []

    def serve(_, writer):
        writers.append(writer)
        writer.write(words)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


async def test_tells_a_server_that_speaks_no_tls():
    """
    The handshake fails at once.
    """
    async with greeting(b"no TLS\r\n\r\n") as port, reached(base_url=f"https://localhost:{port}") as r:
        with pytest.raises(UpstreamUnreachableError, match="certificate or handshake"):
            await asyncio.wait_for(r.send(), 5)


@pytest.mark.parametrize("proxied", [False, True])
async def test_connecting_has_its_time(proxied):
    """
    A handshake that is not answered, or a forward proxy that says nothing.
    """
    async with greeting(b"") as port:
        environ = {"HTTPS_PROXY": f"http://127.0.0.1:{port}"} if proxied else {}
        async with reached(environ=environ, base_url=f"https://localhost:{port}", connect_timeout=0.1) as r:
            with pytest.raises(UpstreamTimeoutError, match="connecting took too long"):
                await asyncio.wait_for(r.send(), 5)


async def test_tells_a_port_that_nobody_listens_on():
    """
    And a host that there is not.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for url, told in ((f"http://127.0.0.1:{port}", "no connection"), ("http://no-such-host.invalid", "resolved")):
        async with reached(base_url=url) as r:
            with pytest.raises(UpstreamUnreachableError, match=told):
                await r.send()


async def test_tries_the_next_address_where_one_leads_nowhere(monkeypatch):
    """
    A name with an address of each family, of which one answers.
    """

    async def resolved(_, port):
        six = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0))
        four = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))
        return [six, four]

    monkeypatch.setattr(addresses, "_resolved", resolved)
    async with reached() as r:
        r.url = f"http://two.test:{r.upstream.port}"
        r.client = r.client.renewed({"up": UpstreamSettings(base_url=r.url)})

        assert await asyncio.wait_for(r.ask(), 5) == (200, b"{}")
        assert r.upstream.received[0].header("host") == f"two.test:{r.upstream.port}"


@contextmanager
def swallowing():
    """
    A port at which connecting comes to no end: as many as it takes are waiting there already.
    """
    with socket.socket() as listener, ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield listener.getsockname()


class Names:
    """
    Tells the addresses of *told*, and counts questions.
    """

    def __init__(self, monkeypatch, *told):
        self.told = told
        self.asked = 0
        monkeypatch.setattr(addresses, "_resolved", self)

    async def __call__(self, _host, _port):
        self.asked += 1
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in self.told]


async def test_an_address_that_swallows_everything_is_looked_up_anew(monkeypatch):
    """
    Once it was gone to again for a minute, although its host had moved.
    """
    with swallowing() as nowhere:
        names = Names(monkeypatch, nowhere)
        async with reached(base_url="http://one.test:80", connect_timeout=0.1) as r:
            with pytest.raises(UpstreamTimeoutError):
                await asyncio.wait_for(r.send(), 5)
            names.told = (nowhere, ("127.0.0.1", r.upstream.port))
            monkeypatch.setattr(dial, "_SECOND_ADDRESS_AFTER", 60)

            assert await asyncio.wait_for(r.ask(), 5) == (200, b"{}")
            assert names.asked == 2


async def test_an_address_that_swallows_everything_is_tried_last(monkeypatch):
    """
    It takes a quarter of a second to go past it, which each new connection once took.
    """
    with swallowing() as nowhere:
        async with reached(plain(headers=b"Connection: close\r\n")) as r:
            names = Names(monkeypatch, nowhere, ("127.0.0.1", r.upstream.port))
            r.url = "http://two.test"
            r.client = r.client.renewed({"up": UpstreamSettings(base_url=r.url, connect_timeout=2)})
            assert await asyncio.wait_for(r.ask(), 5) == (200, b"{}")
            monkeypatch.setattr(dial, "_SECOND_ADDRESS_AFTER", 60)

            assert await asyncio.wait_for(r.ask(), 5) == (200, b"{}")
            assert (r.upstream.connections, names.asked) == (2, 1)


async def test_a_client_that_gives_up_on_an_address_says_as_much(monkeypatch):
    """
    Its patience may end before ours.
    """
    with swallowing() as nowhere:
        names = Names(monkeypatch, nowhere)
        async with reached(base_url="http://one.test:80", connect_timeout=30) as r:
            for asked in (1, 2):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(r.send(), 0.1)
                assert names.asked == asked


async def test_an_address_whose_handshake_fails_is_tried_last(certificate, monkeypatch):
    """
    That it takes connections does not make it a better one.
    """
    async with greeting(b"no TLS\r\n\r\n") as port, reached(tls=certificate, ca_file=certificate[0]) as r:
        Names(monkeypatch, ("127.0.0.1", port), ("127.0.0.1", r.upstream.port))
        with pytest.raises(UpstreamUnreachableError, match="handshake"):
            await asyncio.wait_for(r.send(), 5)

        assert await asyncio.wait_for(r.ask(), 5) == (200, b"{}")


async def test_an_address_that_is_back_gets_its_share_again(monkeypatch):
    """
    After a while, or as soon as it was the only one left that answers.
    """
    one, other = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{n}", 80)) for n in (1, 2)]
    Names(monkeypatch, one[4], other[4])
    book = addresses.Addresses()
    assert await book.of("a.test", 80) == [one, other]
    assert book.reached([one, other], other[4]) == [other]
    assert await book.of("a.test", 80) == [other, one]
    assert book.reached([other, one], one[4]) == [one]
    assert await book.of("a.test", 80) == [one, other]

    monkeypatch.setattr(addresses, "_LAST_FOR_SECONDS", 0)
    book.failed("a.test", 80, [one])
    assert await book.of("a.test", 80) == [one, other]


class Resolver:
    """
    Counts questions; *failures* of them fail.
    """

    def __init__(self, failures=0):
        self.asked = 0
        self.failures = failures

    async def __call__(self, host, port):
        self.asked += 1
        await asyncio.sleep(0.01)
        if self.asked <= self.failures:
            raise socket.gaierror(-2, "unknown")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


@pytest.fixture
def resolver(monkeypatch):
    """
    Answer instead of the machine's resolver.
    """
    made = Resolver()
    monkeypatch.setattr(addresses, "_resolved", made)
    return made


async def test_asks_for_an_address_once(resolver):
    """
    Those who ask at the same time share a question, even where the first of them gives up.
    """
    book = addresses.Addresses()
    first, *others = [asyncio.ensure_future(book.of("a.test", 80)) for _ in range(4)]
    await asyncio.sleep(0)
    first.cancel()
    found = await asyncio.gather(*others)
    await book.of("a.test", 80)

    assert (resolver.asked, found[0][0][4]) == (1, ("127.0.0.1", 80))
    book.failed("a.test", 80, [])
    await book.of("a.test", 80)
    assert resolver.asked == 2


async def test_does_not_remember_that_there_was_no_address(resolver):
    """
    The next request asks again.
    """
    resolver.failures = 1
    book = addresses.Addresses()
    with pytest.raises(OSError):
        await book.of("a.test", 80)

    assert len(await book.of("a.test", 80)) == 1


async def test_a_literal_address_needs_no_resolver(resolver):
    """
    Of either family.
    """
    found = [(await addresses.Addresses().of(host, 80))[0][0] for host in ("127.0.0.1", "::1")]

    assert (found, resolver.asked) == ([socket.AF_INET, socket.AF_INET6], 0)


@pytest.mark.parametrize("status", [b"2000", b"4" * 5_000, b"20"])
async def test_a_status_of_other_than_three_digits_is_no_answer_of_a_forward_proxy(status):
    """
    However many they are, it is told at once.
    """
    async with forwarding(1, answer=b"HTTP/1.1 %b x\r\n\r\n" % status) as forward:
        environ = {"https_proxy": f"http://127.0.0.1:{forward.port}"}
        client = UpstreamClient({"up": UpstreamSettings(base_url=BEHIND)}, environ=environ)
        with pytest.raises(UpstreamUnreachableError, match="is no HTTP"):
            await asyncio.wait_for(client.send(Outgoing("up", "GET", BEHIND + "/x", (), b"")), 5)
        await client.close()


async def test_a_certificate_refused_behind_a_forward_proxy_is_all_that_is_told(certificate):
    """
    A connection that is lost before it was made is no fault of ours on top.
    """
    faults = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context["message"]))
    async with reached(tls=certificate) as up, forwarding(up.upstream.port) as forward:
        environ = {"https_proxy": f"http://127.0.0.1:{forward.port}"}
        client = UpstreamClient({"up": UpstreamSettings(base_url=BEHIND)}, environ=environ)
        with pytest.raises(UpstreamUnreachableError, match="TLS"):
            await client.send(Outgoing("up", "GET", BEHIND + "/x", (), b""))
        await asyncio.sleep(0.1)
        await client.close()

    assert [fault for fault in faults if "connection_lost" in fault] == []
