"""
``concertina explain``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import click
from rich.console import Console

from proxy.chat.json import dumps, loads
from proxy.cli.explain_report import report
from proxy.cli.options import EXIT_FAILURE, EXIT_MISTAKE, config_option, header_option, settings_or_exit
from proxy.config.environment import environment
from proxy.config.settings import AppSettings
from proxy.errors import StoreError
from proxy.pipeline.explain import Explanation
from proxy.pipeline.explainer import PATH
from proxy.pipeline.settings import ModelSettings
from proxy.records.settings import StoreSettings
from proxy.telemetry.log_settings import LogSettings
from proxy.telemetry.logs import set_up_log
from proxy.tokens.vocabulary import Vocabulary
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.wire import Headers, Incoming
from proxy.wiring import Proxy, build_to_look

# Nothing is sent there: an upstream has to have an address, and none was given.
NO_UPSTREAM = {"none": UpstreamSettings(base_url="http://127.0.0.1/v1", discover=False)}
SEED = "explain"
"""Seeds digests where no store of a proxy is read, so that the same history has the same digest in every run."""


@dataclass(frozen=True, slots=True)
class Asked:
    """
    What the command line asks: the *window* that is supposed, and whether *live* servers and stores may be asked.
    """

    incoming: Incoming
    window: int | None
    live: bool


@click.command()
@click.argument("request", type=click.File("rb"), metavar="REQUEST.json")
@config_option
@click.option("--window", type=click.IntRange(min=1), metavar="N", help="Suppose this context window, in tokens.")
@click.option("--mode", type=click.Choice(["off", "observe", "recover", "compact"]), help="Suppose this mode.")
@click.option("--force", is_flag=True, help="Compact whatever the size.")
@click.option("--focus", metavar="TOPIC", help="Favour this topic in the summary.")
@header_option
@click.option("--path", default=PATH, show_default=True, metavar="PATH", help="Where the client would send it.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the request as it would be sent.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--summary", is_flag=True, help="Print the summary as well.")
@click.option("--live", is_flag=True, help="Ask the upstream for its window, and read the store of the configuration.")
def explain(  # noqa: PLR0913, PLR0917 - click passes an argument an option
    request: IO[bytes],
    config: Path | None,
    window: int | None,
    mode: str | None,
    force: bool,
    focus: str | None,
    headers: Headers,
    path: str,
    output: Path | None,
    as_json: bool,
    summary: bool,
    live: bool,
) -> None:
    r"""
    Explain what would be done to a request.

    REQUEST.json is the body of a chat completion, - for stdin. Tells of every message whether it is kept, pruned,
    folded or restated, with its tokens. Needs neither configuration nor upstream, asks no model (the extractive
    summariser stands in), and without --live nothing leaves this process.

    \b
      concertina explain request.json
      concertina explain request.json --window 32768 --summary
      concertina explain request.json --config concertina.yaml --output sent.json
      concertina explain request.json --json | jq '.before, .after'
      concertina explain request.json --config concertina.yaml --live -H "authorization: Bearer $KEY"
    """
    wishes = {"x-concertina-mode": mode, "x-concertina-focus": focus, "x-concertina-force": "true" if force else None}
    sent = (*headers, *((name, text) for name, text in wishes.items() if text))
    settings = supposed(settings_or_exit(config, need_upstream=False), window=window, live=live)
    asked = Asked(Incoming("POST", path, sent, _body(request)), window, live)
    set_up_log(LogSettings(level="error"), terminal=True)
    with Console(stderr=True).status("Loading the token tables and planning ..."):
        found = asyncio.run(_explained(settings, asked))
    if output is not None:
        _write(output, found.body)
    click.echo(dumps(found.to_dict()) if as_json else report(found, summary=summary))


def supposed(settings: AppSettings, *, window: int | None, live: bool) -> AppSettings:
    """
    Return settings for a look without consequences: unless it is *live*, with a store in memory and no discovery.
    """
    upstreams = settings.upstreams or NO_UPSTREAM
    if not live:
        upstreams = {name: kept.model_copy(update={"discover": False}) for name, kept in upstreams.items()}
    changes: dict[str, object] = {"upstreams": upstreams}
    if not settings.upstreams:
        # Nothing is configured: the request is treated as by a proxy that needs no model either.
        summarizer = settings.compaction.summarizer.model_copy(update={"kind": "extractive"})
        changes["compaction"] = settings.compaction.model_copy(update={"summarizer": summarizer})
    if window is not None:
        # The first glob that matches wins.
        changes["models"] = {"*": ModelSettings(context_window=window), **_others(settings.models)}
    if not live:
        changes["store"] = in_memory(settings.store)
    return settings.model_copy(update=changes)


async def _explained(settings: AppSettings, asked: Asked) -> Explanation:
    """
    Explain with the records of the store, or say why there are none.
    """
    try:
        return await explanation(settings, asked)
    except StoreError as exc:
        click.echo(f"{exc}; explained as for a conversation of which no record is known", err=True)
        return await explanation(settings.model_copy(update={"store": in_memory(settings.store)}), asked)


def in_memory(store: StoreSettings) -> StoreSettings:
    """
    Return settings of a store that holds nothing.
    """
    return StoreSettings(url="memory://", secret=store.secret or SEED, namespace=store.namespace)


async def explanation(settings: AppSettings, asked: Asked) -> Explanation:
    """
    Build the proxy, without listening, and have it explain. Raises ``SettingsError``, ``StoreError``.
    """
    vocabulary = Vocabulary()
    proxy = await build_to_look(settings, environ=environment(), vocabulary=vocabulary)
    try:
        await asyncio.to_thread(vocabulary.load)
        if asked.live and asked.window is None:
            await _ask_window(proxy, asked.incoming)
        found = await proxy.explainer.explain(asked.incoming)
    finally:
        await proxy.close()
    return replace(found, window_origin="option") if asked.window and found.window == asked.window else found


async def _ask_window(proxy: Proxy, incoming: Incoming) -> None:
    """
    Ask the upstream of the request's route for the window of the request's model.
    """
    data = loads(incoming.body)
    model = data.get("model") if isinstance(data, Mapping) else None
    if isinstance(model, str):
        await proxy.core.discovery.ask(proxy.core.router.of(incoming).upstream, model, incoming.headers)


def _others(models: Mapping[str, ModelSettings]) -> dict[str, ModelSettings]:
    return {glob: settings for glob, settings in models.items() if glob != "*"}


def _body(request: IO[bytes]) -> bytes:
    body = request.read()
    try:
        loads(body)
    except ValueError as exc:
        click.echo(f"{request.name}: is no JSON: give the body of a request to /v1/chat/completions", err=True)
        raise SystemExit(EXIT_MISTAKE) from exc
    return body


def _write(path: Path, body: bytes) -> None:
    try:
        path.write_bytes(body)
    except OSError as exc:
        click.echo(f"{path}: cannot be written: {exc.strerror}", err=True)
        raise SystemExit(EXIT_FAILURE) from exc
