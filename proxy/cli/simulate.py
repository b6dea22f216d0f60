"""
``concertina simulate``.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from proxy.errors import SettingsError
from proxy.simulator.received import Received
from proxy.simulator.script_file import ScriptFile, parse_script
from proxy.simulator.server import Simulator
from proxy.simulator.settings import SimulatorSettings
from proxy.simulator.steps import Script
from proxy.simulator.wordings import WORDINGS
from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary

DEFAULT_LISTEN = "127.0.0.1:8090"
_REMEMBERED = 50
_EXIT_FAILURE = 1
_EXIT_MISTAKE = 2
_DEFAULTS: Mapping[str, Any] = {"remember": _REMEMBERED, "models_field": "max_model_len"}


@click.command()
@click.option("--listen", default=DEFAULT_LISTEN, show_default=True, metavar="HOST:PORT", help="Address to listen on.")
@click.option(
    "--window", type=click.IntRange(min=1), metavar="N", help="Context window in tokens; no limit if not given."
)
@click.option("--max-bytes", type=click.IntRange(min=1), metavar="N", help="Answer 413 to larger bodies.")
@click.option(
    "--script",
    "script_path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="YAML file of steps, see docs/reference/simulator.md.",
)
@click.option("--wording", type=click.Choice(list(WORDINGS)), help="How an overflow is said.", metavar="NAME")
@click.option("--strict/--lenient", default=None, help="Refuse what strict providers refuse; strict if not given.")
@click.option("--token-ratio", type=float, metavar="R", help="Own tokens per counted token.")
@click.option("--delay", "delay_seconds", type=float, metavar="SECONDS", help="Wait before every answer.")
@click.option("--summary-model", metavar="NAME", help="Calls of this model get numbered summaries.")
def simulate(listen: str, script_path: Path | None, **given: Any) -> None:
    r"""
    Simulate an OpenAI-compatible API.

    Answers without a model, counts tokens, and refuses what a real server refuses, in the words of that server.

    \b
      concertina simulate --window 8192 --wording vllm
      concertina serve --upstream http://127.0.0.1:8090/v1
    """
    try:
        script = parse_script("" if script_path is None else script_path.read_text("utf-8"))
        settings = simulator_settings(script, given)
        host, port = _address(listen)
    except SettingsError as exc:
        raise SystemExit(_report(exc.mistakes)) from exc
    except OSError as exc:
        raise SystemExit(_report([f"{script_path}: {exc.strerror}"])) from exc
    vocabulary = Vocabulary()
    vocabulary.load()
    counter = TokenCounter(vocabulary, CountCache())
    simulator = Simulator(settings, Script(script.steps), counter=counter, on_finished=_show)
    try:
        asyncio.run(_until_told(simulator, host, port))
    except OSError as exc:
        click.echo(f"cannot listen on {listen}: {exc.strerror or exc}", err=True)
        raise SystemExit(_EXIT_FAILURE) from exc


def simulator_settings(script: ScriptFile, given: Mapping[str, Any]) -> SimulatorSettings:
    """
    Return the settings of the script, with the options *given* on the command line over them.
    """
    options = {name: value for name, value in given.items() if value is not None}
    try:
        return SimulatorSettings(**{**_DEFAULTS, **script.settings, **options})
    except ValidationError as exc:
        mistakes = (f"{'.'.join(str(key) for key in error['loc'])}: {error['msg']}" for error in exc.errors())
        raise SettingsError(tuple(mistakes)) from exc


async def serve_until(
    stopping: asyncio.Event, simulator: Simulator, *, host: str, port: int, say: Callable[[str], None]
) -> None:
    """
    Serve until *stopping* is set.
    """
    url = await simulator.start(host, port)
    window = simulator.settings.window
    manners = "strict" if simulator.settings.strict else "lenient"
    say(f"simulator at {url} (window {window or 'none'}, wording {simulator.settings.wording}, {manners})")
    await stopping.wait()
    await simulator.stop()


async def _until_told(simulator: Simulator, host: str, port: int) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # no signal handlers on Windows; Ctrl-C ends the loop there
            loop.add_signal_handler(number, stopping.set)
    await serve_until(stopping, simulator, host=host, port=port, say=click.echo)


def describe(received: Received) -> str:
    """
    Return one line on a request and its answer; no text of it.
    """
    parts = [f"#{received.number} {received.method} {received.path} {received.status}"]
    if received.messages:
        parts.append(f"{len(received.messages)} rows {received.prompt_tokens} tokens ({received.cached_tokens} cached)")
    if received.is_summary_call:
        parts.append("summary")
    parts += sorted({violation.kind for violation in received.violations})
    if received.cancelled:
        parts.append("client left")
    return " · ".join(parts)


def _show(received: Received) -> None:
    click.echo(describe(received))


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit():
        raise SettingsError((f"--listen {listen}: expected HOST:PORT",))
    return host.strip("[]"), int(port)


def _report(mistakes: tuple[str, ...] | list[str]) -> int:
    for mistake in mistakes:
        click.echo(mistake, err=True)
    return _EXIT_MISTAKE
