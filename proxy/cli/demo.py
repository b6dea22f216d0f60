"""
``concertina demo``.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from proxy.cli.demo_report import COLUMNS, LEGEND, NEXT, Found, direct_lines, line, table
from proxy.cli.options import EXIT_FAILURE
from proxy.cli.replay import Replayer, Request, Turn, parse_conversations, requests
from proxy.config.settings import AppSettings
from proxy.errors import SettingsError
from proxy.simulator.server import Simulator
from proxy.simulator.settings import SimulatorSettings
from proxy.telemetry.log_settings import LogSettings
from proxy.telemetry.logs import set_up_log
from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary
from proxy.wiring import build

BUNDLED = "demo_session.jsonl"
DEFAULT_WINDOW = 8_192
_SMALLEST_WINDOW = 2_048
_HOST = "127.0.0.1"
_EXIT_MISTAKE = 2
_WITHOUT_OPENAI = "concertina demo needs the official client: pip install 'concertina-proxy[demo]'"


@dataclass(frozen=True, slots=True)
class Stage:
    """
    What the demo plays on: the client library, the model's side, and who listens.
    """

    openai: Any
    simulator: Simulator
    counter: TokenCounter
    console: Console
    progress: Progress


@click.command()
@click.option(
    "--conversations",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE.jsonl",
    help="Sessions of your own: one JSON object with messages (and tools) a line.",
)
@click.option(
    "--window",
    type=click.IntRange(min=_SMALLEST_WINDOW),
    default=DEFAULT_WINDOW,
    show_default=True,
    metavar="N",
    help="Context window in tokens.",
)
@click.option("--turns", type=click.IntRange(min=1), metavar="N", help="Stop after so many turns.")
@click.option("--extractive", is_flag=True, help="Summarise without a model.")
def demo(conversations: Path | None, window: int, turns: int | None, extractive: bool) -> None:
    r"""
    Show a long session with and without the proxy.

    Replays a coding agent's session against a simulated API with a small window: first directly, until the API
    refuses, then through Concertina with only the base URL changed. Nothing leaves this machine.

    \b
      concertina demo
      concertina demo --conversations my_sessions.jsonl --window 16384
    """
    openai = openai_or_exit()
    set_up_log(LogSettings(level="warning"), terminal=False)
    asked = requests(_conversations_or_exit(conversations), turns)
    raise SystemExit(asyncio.run(play(openai, asked, window=window, extractive=extractive)))


def openai_or_exit(name: str = "openai") -> Any:
    """
    Return the official client library; says how to get it where it is missing.
    """
    try:
        return importlib.import_module(name)
    except ImportError as exc:
        click.echo(_WITHOUT_OPENAI, err=True)
        raise SystemExit(EXIT_FAILURE) from exc


def bundled() -> bytes:
    """
    Return the session that comes with the package.
    """
    return (files("proxy.cli") / "data" / BUNDLED).read_bytes()


def _conversations_or_exit(path: Path | None) -> list[dict[str, Any]]:
    try:
        return parse_conversations(bundled() if path is None else path.read_bytes(), str(path or BUNDLED))
    except SettingsError as exc:
        click.echo("\n".join(exc.mistakes), err=True)
        raise SystemExit(_EXIT_MISTAKE) from exc


async def play(openai: Any, asked: Sequence[Request], *, window: int, extractive: bool) -> int:
    """
    Replay the requests twice and return the exit code.
    """
    vocabulary = Vocabulary()
    await asyncio.to_thread(vocabulary.load)
    counter = TokenCounter(vocabulary, CountCache())
    settings = SimulatorSettings(window=window, summary_markers=("<record ",))
    simulator = Simulator(settings, counter=counter)
    console = Console(highlight=False, soft_wrap=True)
    url = await simulator.start()
    try:
        with Progress(console=console, transient=True) as progress:
            stage = Stage(openai, simulator, counter, console, progress)
            direct = await _directly(stage, url, asked)
            async with _proxy(url, window, vocabulary, extractive=extractive) as base_url:
                proxied = await _through(stage, base_url, asked)
    finally:
        await simulator.stop()
    return _conclude(stage, asked, direct, proxied)


async def _directly(stage: Stage, url: str, asked: Sequence[Request]) -> list[Turn]:
    _say(stage, f"1. Directly: base_url={url}, window {stage.simulator.settings.window:,} tokens")
    found: list[Turn] = []
    task = stage.progress.add_task("directly", total=len(asked))
    async with _client(stage.openai, url) as client:
        replayer = Replayer(client, stage.simulator, refused=stage.openai.OpenAIError)
        async for turn in replayer.replay(asked, each=lambda: stage.progress.advance(task)):
            found.append(turn)
            if not turn.ok:
                break
    stage.progress.remove_task(task)
    _say(stage, *direct_lines(found), "")
    return found


async def _through(stage: Stage, url: str, asked: Sequence[Request]) -> list[Turn]:
    _say(stage, f"2. Through Concertina: base_url={url}, all else the same", *LEGEND, COLUMNS)
    found: list[Turn] = []
    task = stage.progress.add_task("through Concertina", total=len(asked))
    async with _client(stage.openai, url) as client:
        replayer = Replayer(client, stage.simulator, refused=stage.openai.OpenAIError)
        async for turn in replayer.replay(asked, each=lambda: stage.progress.advance(task)):
            found.append(turn)
            _say(stage, line(turn))
    stage.progress.remove_task(task)
    return found


def _client(openai: Any, url: str) -> Any:
    # Everything is on this machine: a web proxy that the environment names must not be asked for it.
    http = openai.DefaultAsyncHttpxClient(trust_env=False)
    return openai.AsyncOpenAI(base_url=url, api_key="demo", max_retries=0, http_client=http)


@contextlib.asynccontextmanager
async def _proxy(upstream: str, window: int, vocabulary: Vocabulary, *, extractive: bool) -> AsyncIterator[str]:
    settings = proxy_settings(upstream, window, extractive=extractive)
    proxy = await build(settings, vocabulary=vocabulary)
    try:
        listening, host, port = await proxy.start(_HOST, 0)
        try:
            yield f"http://{host}:{port}/v1"
        finally:
            await listening.stop()
    finally:
        await proxy.close()


def proxy_settings(upstream: str, window: int, *, extractive: bool) -> AppSettings:
    """
    Return the settings of the demo's proxy: the defaults, but nothing kept and nothing done in the background.
    """
    # A record made in the background would make the figures differ between runs.
    compaction: dict[str, Any] = {"prepare_at": None}
    if extractive:
        compaction["summarizer"] = {"kind": "extractive"}
    return AppSettings.model_validate(
        {
            "store": {"url": "memory://"},
            "upstreams": {"sim": {"base_url": upstream, "context_window": window, "discover": False}},
            "compaction": compaction,
        }
    )


def _conclude(stage: Stage, asked: Sequence[Request], direct: Sequence[Turn], proxied: Sequence[Turn]) -> int:
    sizes = [stage.counter.fixed(request.fields) + stage.counter.messages(request.rows) for request in asked]
    summaries = stage.simulator.summary_calls
    found = Found(
        asked=len(asked),
        whole_tokens=sum(sizes),
        too_large=sum(size > (stage.simulator.settings.window or size) for size in sizes),
        direct=direct,
        proxied=proxied,
        summary_calls=len(summaries),
        summary_tokens=sum(call.prompt_tokens for call in summaries),
    )
    stage.console.print()
    stage.console.print(table(found))
    _say(stage, *NEXT)
    return EXIT_FAILURE if found.failures else 0


def _say(stage: Stage, *lines: str) -> None:
    # No markup: the server's words may hold brackets.
    for text in lines:
        stage.console.print(text, markup=False)
