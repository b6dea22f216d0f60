import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.cli.child import ProxyDiedError, client_environment, free_port, run_command, running_proxy

ANSWERING = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()
    def log_message(self, *args): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
SILENT = """
import socket, sys, time
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True: s.accept()[0].close()
"""


def python(code: str, *arguments: object) -> list[str]:
    """
    Return a command that runs *code*.
    """
    return [sys.executable, "-c", code, *map(str, arguments)]


def tries(count: int = 10**6):
    """
    Return a pause that gives up after *count* calls.
    """
    left = iter(range(count))

    def pause() -> None:
        if next(left, None) is None:
            raise TimeoutError
        with socket.socket() as waiting:  # a moment for the other process, without a clock
            waiting.settimeout(0.02)
            waiting.bind(("127.0.0.1", 0))
            waiting.listen()
            with pytest.raises(TimeoutError):
                waiting.accept()

    return pause


def test_the_command_finds_the_proxy() -> None:
    """
    Under both names that OpenAI clients read.
    """
    found = client_environment({"PATH": "/bin", "OPENAI_BASE_URL": "https://elsewhere"}, 4711)

    assert found["OPENAI_BASE_URL"] == found["OPENAI_API_BASE"] == "http://127.0.0.1:4711/v1"
    assert found["PATH"] == "/bin"


@pytest.mark.parametrize(("before", "after"), [({}, "127.0.0.1"), ({"NO_PROXY": "a.example"}, "a.example,127.0.0.1")])
def test_no_forward_proxy_is_asked_for_ours(before: dict[str, str], after: str) -> None:
    """
    Where HTTP_PROXY is set, clients would send our own address there.
    """
    assert client_environment(before, 1)["NO_PROXY"] == after


@pytest.mark.slow
def test_the_proxy_lives_as_long_as_the_block() -> None:
    """
    It answers when the block begins and is gone when it ends.
    """
    port = free_port()
    with running_proxy(python(ANSWERING, port), environ=os.environ, port=port, pause=tries()):
        socket.create_connection(("127.0.0.1", port)).close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


@pytest.mark.slow
def test_a_proxy_that_ends_at_once_is_told() -> None:
    """
    The command is not started.
    """
    with (
        pytest.raises(ProxyDiedError, match="ended at once"),
        running_proxy(python("raise SystemExit(2)"), environ=os.environ, port=free_port(), pause=tries()),
    ):
        pytest.fail("the block must not be entered")


@pytest.mark.slow
def test_a_proxy_that_never_answers_is_stopped() -> None:
    """
    Whatever else listens there.
    """
    port = free_port()
    with (
        pytest.raises(TimeoutError),
        running_proxy(python(SILENT, port), environ=os.environ, port=port, pause=tries(20)),
    ):
        pytest.fail("the block must not be entered")

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(7)", 7),
        ("pass", 0),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL),
        ("import os; raise SystemExit(os.environ['MARK'] != 'x')", 0),
    ],
)
def test_the_exit_code_is_the_commands(code: str, expected: int) -> None:
    """
    Of a signal, as a shell shows it.
    """
    assert run_command(python(code), {**os.environ, "MARK": "x"}) == expected


def test_ctrl_c_is_the_commands_alone() -> None:
    """
    A terminal sends it to both; an interactive client cancels an answer with it and goes on.
    """
    code = "import os, signal; os.kill(os.getppid(), signal.SIGINT); raise SystemExit(5)"
    before = signal.getsignal(signal.SIGINT)

    assert run_command(python(code), os.environ) == 5
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture
def heeded(number: int) -> Iterator[None]:
    """
    A signal that is ignored, as SIGHUP is under nohup, stays ignored; here it is not.
    """
    before = signal.signal(number, signal.SIG_DFL)
    yield
    signal.signal(number, before)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_told_to_end_is_handed_on(number: int) -> None:
    """
    The command ends, and then the proxy.
    """
    code = f"import os, signal; os.kill(os.getppid(), {int(number)}); signal.pause()"

    assert run_command(python(code), os.environ) == 128 + number


@pytest.mark.slow
@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_told_to_end_before_the_command_runs_ends_the_proxy(number: int, tmp_path: Path) -> None:
    """
    Nobody else would: it does not belong to the terminal.
    """
    note = tmp_path / "pid"
    code = f"import os, pathlib, time; pathlib.Path({str(note)!r}).write_text(str(os.getpid())); time.sleep(60)"

    def pause() -> None:
        if note.exists() and note.read_text():
            os.kill(os.getpid(), number)
        time.sleep(0.05)

    with (
        pytest.raises(SystemExit) as caught,
        running_proxy(python(code), environ=os.environ, port=free_port(), pause=pause),
    ):
        pytest.fail("the block must not be entered")

    assert caught.value.code == 128 + number
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


@pytest.mark.parametrize(("name", "expected"), [("no-such-command-4711", 127), ("/", 126)])
def test_a_command_that_cannot_be_run_ends_as_in_a_shell(
    name: str, expected: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Not found, or found and not to be executed; which, and why, is said.
    """
    assert run_command([name], {"PATH": os.defpath}) == expected
    assert capsys.readouterr().err.startswith(f"concertina run: {name}: ")
