"""
``concertina doctor`` finds each of ten planted faults, says what to do, and finds none where there is none.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from proxy.cli.main import main
from proxy.records.sqlite_file import open_file
from proxy.tokens.vocabulary import Vocabulary
from tests.support.edge import RawUpstream, plain, served_by
from tests.support.processes import free_port

pytestmark = pytest.mark.slow
SECRET = "sk-secret-of-the-test"


@pytest.fixture(autouse=True)
def _log_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.cli.doctor.set_up_log", lambda *_, **__: None)


class Strict(BaseHTTPRequestHandler):
    """
    A server that knows its own paths only, as real ones do.
    """

    base = "/v1"
    key = ""

    def do_GET(self) -> None:
        self._answer(200 if self.path == f"{self.base}/models" else 404, {"object": "list", "data": []})

    def do_POST(self) -> None:
        self._answer(400 if self.path == f"{self.base}/chat/completions" else 404, {"error": {"message": "no"}})

    def _answer(self, status: int, data: Any) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.key and self.headers.get("authorization") != f"Bearer {self.key}":
            status, data = 401, {"error": {"message": "Incorrect API key provided"}}
        body = json.dumps(data if status != 404 else {"detail": "Not Found"}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def strict_server(**attributes: str) -> Iterator[str]:
    """
    Serve on a free port, and give the address.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Strict,), attributes))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Clinic:
    """
    Writes a healthy configuration with a fault in it, and has it looked at.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.settings: dict[str, Any] = {
            "listen": f"127.0.0.1:{free_port()}",
            "admin": {"listen": None},
            "store": {"url": f"sqlite:///{folder / 'state.db'}"},
            "upstreams": {"here": {"base_url": url, "context_window": 8192, "connect_timeout": "2s"}},
        }
        self.upstream: dict[str, Any] = self.settings["upstreams"]["here"]

    async def see(self, *arguments: str) -> Result:
        """
        Return what the verb prints of the configuration as it is now.
        """
        path = self.folder / "c.yaml"
        path.write_text(yaml.safe_dump(self.settings), "utf-8")
        command = ["doctor", "--config", str(path), *arguments]
        result = await asyncio.to_thread(CliRunner().invoke, main, command)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    async def faults(self, *arguments: str) -> list[tuple[str, str, str]]:
        """
        Return check, text and advice of each fault; every one has an advice.
        """
        result = await self.see("--json", *arguments)
        told = json.loads(result.stdout)
        found = [finding for finding in told["findings"] if finding["state"] == "fault"]
        assert (told["ok"], result.exit_code) == (not found, 1 if found else 0)
        assert all(finding["advice"] for finding in found)
        assert SECRET not in result.output
        return [(finding["check"], finding["text"], finding["advice"]) for finding in found]


@pytest.fixture
async def clinic(tmp_path: Path, upstream_factory: Any) -> Clinic:
    """
    A clinic whose upstream is well.
    """
    upstream = await upstream_factory(window=8_192, models_field="context_length")
    return Clinic(tmp_path, upstream.url)


async def test_nothing_is_found_where_all_is_well(clinic: Clinic) -> None:
    """
    And every check is named, so that one can see what was looked at.
    """
    del clinic.upstream["context_window"]
    result = await clinic.see()

    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    for check in ("port", "store", "token tables", "reachable", "base path", "key", "window"):
        assert any(line.startswith(f"ok     {check}: ") for line in lines), check
    assert "ok     window: default, sim-model: 8,192 tokens, stated by the upstream" in lines
    assert lines[-1] == "no fault was found"


async def test_an_upstream_that_is_down(clinic: Clinic) -> None:
    """
    Nobody listens there.
    """
    clinic.upstream["base_url"] = f"http://127.0.0.1:{free_port()}/v1"
    [(check, text, advice)] = await clinic.faults()

    assert (check, text.startswith("nothing answers at http://127.0.0.1:")) == ("reachable", True)
    assert "upstreams.here.base_url" in advice


async def test_a_wrong_key(clinic: Clinic) -> None:
    """
    Of several, the one that is wrong is told by its number; none is printed.
    """
    with strict_server(key="sk-right") as url:
        clinic.upstream |= {"base_url": f"{url}/v1", "api_keys": ["sk-right", SECRET]}
        [(check, text, advice)] = await clinic.faults()

    assert (check, text) == ("key", "key 2 of 2 is refused with 401")
    assert "upstreams.here.api_keys" in advice


async def test_a_wrong_base_path(clinic: Clinic) -> None:
    """
    The right one is looked for, and named.
    """
    with strict_server(base="/openai/v1") as url:
        clinic.upstream["base_url"] = f"{url}/api"
        [(check, text, advice)] = await clinic.faults()

    assert (check, text) == ("base path", f"there is no chat completions API under {url}/api")
    assert advice == f"set upstreams.here.base_url to {url}/openai/v1"


async def test_no_write_access(clinic: Clinic) -> None:
    """
    Not even root may write there.
    """
    clinic.settings["store"]["url"] = "sqlite:////proc/no/state.db"
    [(check, text, advice)] = await clinic.faults()

    assert (check, text.startswith("does not work: ")) == ("store", True)
    assert "let this user write /proc/no/state.db" in advice


async def test_a_misspelt_variable_is_worth_a_note(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The proxy runs without it, so it is no fault.
    """
    monkeypatch.setenv("CONCERTINA_LOGLEVEL", SECRET)
    result = await clinic.see()

    assert result.exit_code == 0
    assert (
        "note   environment: CONCERTINA_LOGLEVEL: sets nothing\n       tip: did you mean CONCERTINA_LOG_LEVEL?"
        in result.stdout
    )
    assert SECRET not in result.output


@pytest.mark.parametrize("file", [b"an important letter" * 400, "damaged", b"", None], ids=str)
async def test_a_store_that_is_none_is_left_as_it_is(clinic: Clinic, file: bytes | str | None) -> None:
    """
    What the proxy would make or move aside is for the proxy to do; where it would move something, that is a fault.
    """
    path = clinic.folder / "kept" / "state.db"
    clinic.settings["store"]["url"] = f"sqlite:///{path}"
    if file is not None:
        path.parent.mkdir()
        path.write_bytes(file if isinstance(file, bytes) else damaged(clinic.folder / "other.db"))
    before = path.read_bytes() if file is not None else None
    faults = await clinic.faults()

    assert [(check, text) for check, text, _ in faults] == (
        [("store", "corrupted, or no database at all")] if file else []
    )
    assert all(f"{path}.corrupt" in advice for _, _, advice in faults)
    assert [each.name for each in path.parent.glob("*")] == ["state.db"] * (file is not None)
    assert before is None or path.read_bytes() == before


def damaged(path: Path) -> bytes:
    """
    Return a store with a sound beginning and a broken page.
    """
    with closing(open_file(path)) as connection:
        connection.executemany("INSERT INTO facts VALUES (?, zeroblob(3000), NULL)", [(str(n),) for n in range(50)])
    raw = path.read_bytes()
    return raw[:4096] + b"\xa5" * (len(raw) - 4096)


async def test_redis_is_down(clinic: Clinic) -> None:
    """
    Its password is in the settings and not in the advice.
    """
    pytest.importorskip("redis")
    port = free_port()
    clinic.settings["store"]["url"] = f"redis://:{SECRET}@127.0.0.1:{port}/0"
    [(check, _, advice)] = await clinic.faults()

    assert check == "store"
    assert advice.startswith("start Redis, or correct the host, port and password of store.url")
    assert str(port) in advice


async def test_a_window_that_nobody_knows(clinic: Clinic, upstream_factory: Any) -> None:
    """
    Neither the server, nor the table, nor the configuration.
    """
    upstream = await upstream_factory(models=("home-made",))
    del clinic.upstream["context_window"]
    clinic.upstream["base_url"] = upstream.url
    [(check, text, advice)] = await clinic.faults()

    assert (check, text.startswith("is unknown: the server does not state it")) == ("window", True)
    assert "set upstreams.here.context_window, or models.home-made.context_window" in advice


async def test_the_vocabulary_is_missing(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A broken installation.
    """
    monkeypatch.setattr("proxy.cli.doctor.Vocabulary", partial(Vocabulary, clinic.folder / "no.bin"))
    [(check, text, advice)] = await clinic.faults()

    assert (check, text) == ("token tables", "are missing or damaged")
    assert "pip install --force-reinstall concertina-proxy" in advice


async def test_a_port_that_is_taken(clinic: Clinic) -> None:
    """
    By a program that is no Concertina.
    """
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        taken.settimeout(0.2)
        clinic.settings["listen"] = f"127.0.0.1:{port}"
        [(check, text, advice)] = await clinic.faults()

    assert (check, text) == ("port", "is taken by another program")
    assert f"sport = :{port}" in advice


async def test_a_port_that_is_taken_by_a_proxy_of_ours(clinic: Clinic, proxy_factory: Any) -> None:
    """
    It may well be the one that this file is for.
    """
    proxied = await proxy_factory(clinic.upstream["base_url"])
    clinic.settings["listen"] = proxied.url.removeprefix("http://").removesuffix("/v1")
    result = await clinic.see()

    assert result.exit_code == 0, result.output
    assert "a Concertina serves here already" in result.stdout


async def test_an_admin_port_that_is_taken_by_a_proxy_of_ours(clinic: Clinic, admin_factory: Any) -> None:
    """
    With a token, too: the dashboard's page is open, and says whose it is.
    """
    admin = await admin_factory(None, token="t" * 32)
    clinic.settings["admin"] = {"listen": admin.url.removeprefix("http://")}
    result = await clinic.see()

    assert result.exit_code == 0, result.output
    assert "a Concertina serves here already" in result.stdout


async def test_a_default_admin_port_that_is_taken_is_no_fault(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The proxy serves without one; a port that somebody asked for is another matter.
    """
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        clinic.settings["admin"] = {"listen": address}
        [(_, asked_for, _)] = await clinic.faults()
        monkeypatch.setattr("proxy.cli.checkup.ports.DEFAULT_LISTEN", address)
        result = await clinic.see()

    assert asked_for == "is taken by another program"
    assert "the proxy will serve without an admin port" in result.stdout
    assert result.exit_code == 0, result.output


async def test_a_certificate_that_is_not_trusted(clinic: Clinic, certificate: Any) -> None:
    """
    Until its authority is named.
    """
    upstream = RawUpstream(plain(), served_by(*certificate))
    await upstream.start()
    try:
        clinic.upstream["base_url"] = f"https://localhost:{upstream.port}/v1"
        [(check, text, advice)] = await clinic.faults()
        clinic.upstream["ca_file"] = str(certificate[0])
        trusted = await clinic.faults()
        clinic.upstream["base_url"] = f"https://127.0.0.1:{upstream.port}/v1"
        [(_, other_host, _)] = await clinic.faults()
    finally:
        await upstream.stop()

    assert (check, text.endswith("is not trusted")) == ("certificates", True)
    assert "set upstreams.here.ca_file" in advice
    assert "certificates" not in {check for check, _, _ in trusted}
    assert other_host.endswith("is for another host")


async def test_certificates_that_cannot_be_read(clinic: Clinic) -> None:
    """
    A file that is no PEM is a mistake of the configuration, which is told before anything is looked at.
    """
    (clinic.folder / "ca.pem").write_text("nonsense")
    clinic.upstream.update({"base_url": "https://127.0.0.1:1/v1", "ca_file": str(clinic.folder / "ca.pem")})
    result = await clinic.see()

    assert result.exit_code == 2
    assert "upstreams.here.ca_file: holds no certificates in PEM format" in result.stderr


@pytest.mark.parametrize(
    ("listen", "host"),
    [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "localhost"), ("0.0.0.0", "127.0.0.1"), ("[::]", "localhost")],
)
async def test_a_proxy_that_is_pointed_at_itself(clinic: Clinic, listen: str, host: str) -> None:
    """
    However its address is written.
    """
    port = free_port()
    clinic.settings["listen"] = f"{listen}:{port}"
    clinic.upstream["base_url"] = f"http://{host}:{port}/v1"
    faults = await clinic.faults()

    assert ("loop", True) in [(check, "is the proxy itself" in text) for check, text, _ in faults]


async def test_several_faults_are_told_in_one_run(clinic: Clinic) -> None:
    """
    As text: each with a line that says what to do.
    """
    clinic.settings["store"]["url"] = "sqlite:////proc/no/state.db"
    clinic.upstream["base_url"] = f"http://127.0.0.1:{free_port()}/v1"
    result = await clinic.see()

    lines = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines if line.startswith("FAULT")] == ["FAULT  store", "FAULT  reachable"]
    assert sum(line.startswith("       do: ") for line in lines) == 2
    assert lines[-1].startswith("2 faults in ")
    assert result.exit_code == 1


async def test_a_key_that_clients_bring_can_be_tried(clinic: Clinic) -> None:
    """
    Without one there is nothing to complain of.
    """
    with strict_server(key="sk-right") as url:
        clinic.upstream["base_url"] = f"{url}/v1"
        without = await clinic.faults()
        right = await clinic.faults("-H", "authorization: Bearer sk-right")
        wrong = await clinic.faults("-H", f"authorization: Bearer {SECRET}")

    assert (without, right) == ([], [])
    assert [check for check, _, _ in wrong] == ["key"]


async def test_without_any_upstream_the_rest_is_looked_at(clinic: Clinic) -> None:
    """
    And it is told how to give one.
    """
    del clinic.settings["upstreams"]
    [(check, text, advice)] = await clinic.faults()

    assert (check, text) == ("reachable", "there is none")
    assert "--upstream URL" in advice
