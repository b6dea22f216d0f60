"""
Run a command beside a proxy that lives as long as the command does.
"""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NoReturn

import click

LOOPBACK = "127.0.0.1"
_READY_WITHIN_TRIES = 300
_PROBE_SECONDS = 1.0
_STOP_SECONDS = 5.0
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_NOT_FOUND = 127
_NOT_EXECUTABLE = 126


class ProxyDiedError(Exception):
    """
    The proxy ended, or never answered, before the command could start.
    """


def free_port() -> int:
    """
    Return a port that nobody listens on just now.
    """
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def client_environment(environ: Mapping[str, str], port: int) -> dict[str, str]:
    """
    Return the environment that sends an OpenAI client to the proxy.
    """
    base_url = f"http://{LOOPBACK}:{port}/v1"
    found = {**environ, "OPENAI_BASE_URL": base_url, "OPENAI_API_BASE": base_url}
    for name in ("NO_PROXY", "no_proxy"):
        # A forward proxy that the machine is set up for must not be asked for our own address.
        found[name] = ",".join(filter(None, (environ.get(name), LOOPBACK)))
    return found


@contextmanager
def running_proxy(
    command: Sequence[str], *, environ: Mapping[str, str], port: int, pause: Callable[[], None]
) -> Iterator[None]:
    """
    Keep the proxy that *command* starts running, from when it answers until the block ends.

    It has a session of its own: Ctrl-C in an interactive client cancels an answer there, and must not end the proxy.
    So whatever ends us, be it a terminal that is closed, has to end it first; where we are killed, its standard input ends.
    """
    with (
        _handled(dict.fromkeys(_ENDING, _leave)),
        subprocess.Popen(  # noqa: S603 - our own command
            command, env=dict(environ), stdin=subprocess.PIPE, stdout=2, start_new_session=True
        ) as process,
    ):
        try:
            _wait_until_it_answers(process, port, pause)
            yield
        finally:
            _stop(process)


def run_command(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """
    Run *command* in the foreground and return its exit code, as a shell would; SIGTERM and SIGHUP are handed on.
    """
    try:
        process = subprocess.Popen(command, env=dict(environ))  # noqa: S603 - the user asked for it
    except FileNotFoundError as fault:
        return _told(command, fault, _NOT_FOUND)
    except OSError as fault:
        return _told(command, fault, _NOT_EXECUTABLE)
    with process, _signals_for(process):
        code = process.wait()
    return code if code >= 0 else 128 - code


def _told(command: Sequence[str], fault: OSError, code: int) -> int:
    click.echo(f"concertina run: {command[0]}: {fault.strerror}", err=True)
    return code


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int, pause: Callable[[], None]) -> None:
    for _ in range(_READY_WITHIN_TRIES):
        if process.poll() is not None:
            raise ProxyDiedError("the proxy ended at once; its message stands above")
        if _answers(port):
            return
        pause()
    raise ProxyDiedError("the proxy does not answer")


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=_PROBE_SECONDS)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


@contextmanager
def _signals_for(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """
    Leave Ctrl-C to the command, which the terminal sends it to as well, and hand on to it what tells us to end.
    """

    def hand_on(number: int, _: object) -> None:
        process.send_signal(number)

    with _handled({signal.SIGINT: signal.SIG_IGN, **dict.fromkeys(_ENDING, hand_on)}):
        yield


@contextmanager
def _handled(handlers: Mapping[int, Callable[[int, object], object] | signal.Handlers]) -> Iterator[None]:
    """
    Handle signals while the block runs; one that is ignored, as under nohup, stays so.
    """
    wanted = {number: handler for number, handler in handlers.items() if signal.getsignal(number) != signal.SIG_IGN}
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)
