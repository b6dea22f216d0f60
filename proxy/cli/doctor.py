"""
``concertina doctor``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from proxy.chat.json import dumps
from proxy.cli.checkup.finding import Finding, fault, note
from proxy.cli.checkup.keeping import check_store, check_tables
from proxy.cli.checkup.ports import check_admin_port, check_port
from proxy.cli.checkup.upstreams import Patient, check_upstream
from proxy.cli.checkup.windows import check_windows
from proxy.cli.options import EXIT_FAILURE, config_option, header_option, settings_or_exit, upstream_option
from proxy.config.environment import environment
from proxy.config.settings import AppSettings
from proxy.config.strays import stray_variables
from proxy.errors import StoreError
from proxy.pipeline.settings import RouteSettings
from proxy.records.settings import StoreSettings
from proxy.telemetry.log_settings import LogSettings
from proxy.telemetry.logs import set_up_log
from proxy.tokens.vocabulary import Vocabulary
from proxy.upstream.wire import Headers
from proxy.wiring import Proxy, build_to_look

NONE = "give --upstream URL, set CONCERTINA_UPSTREAM, or name one under upstreams"
_MARKS = {"ok": "ok   ", "note": "note ", "fault": "FAULT"}


@click.command()
@config_option
@upstream_option
@header_option
@click.option("--model", "models", multiple=True, metavar="NAME", help="Look up the window of this model.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(config: Path | None, upstream: str | None, headers: Headers, models: tuple[str, ...], as_json: bool) -> None:
    r"""
    Find out why the proxy does not work, or would not.

    Looks at the environment, ports, store, token tables and every upstream: whether it can be reached, is trusted, has the API where the
    configuration says, takes the key, and which windows its models have. Sends nothing that costs anything. Every fault
    comes with what to do; exits with 1 where there is one.

    \b
      concertina doctor --config concertina.yaml
      concertina doctor --upstream http://127.0.0.1:11434/v1
      concertina doctor --upstream https://api.openai.com/v1 -H "authorization: Bearer $OPENAI_API_KEY"
      concertina doctor --config concertina.yaml --model my-finetune --json
    """
    settings = settings_or_exit(config, overrides={"upstream": upstream}, need_upstream=False)
    set_up_log(LogSettings(level="error"), terminal=True)
    strays = [
        note("environment", stray.variable, "sets nothing", stray.hint)
        for stray in stray_variables(environment(), config)
    ]
    with Console(stderr=True).status("Looking ...") as status:
        found = [*strays, *asyncio.run(_all(settings, headers, models, status.update))]
    sick = any(finding.state == "fault" for finding in found)
    if as_json:
        click.echo(dumps({"ok": not sick, "findings": [asdict(finding) for finding in found]}))
    else:
        click.echo("\n".join(report(found)))
    raise SystemExit(EXIT_FAILURE if sick else 0)


def report(found: Sequence[Finding]) -> Iterator[str]:
    """
    Yield the lines for people.
    """
    for finding in found:
        yield f"{_MARKS[finding.state]}  {finding.check}: {finding.subject}: {finding.text}"
        if finding.advice:
            yield f"       {'do' if finding.state == 'fault' else 'tip'}: {finding.advice}"
    faults = sum(finding.state == "fault" for finding in found)
    yield ""
    yield f"{faults} fault{'s' if faults != 1 else ''} in {len(found)} checks" if faults else "no fault was found"


async def _all(
    settings: AppSettings, headers: Headers, models: Sequence[str], told: Callable[[str], object]
) -> list[Finding]:
    return [finding async for finding in _looked(settings, headers, models, told)]


async def _looked(
    settings: AppSettings, headers: Headers, models: Sequence[str], told: Callable[[str], object]
) -> AsyncIterator[Finding]:
    """
    Look at everything, from the machine outwards; *told* gets what is being looked at.
    """
    told("Looking at ports and the store ...")
    listens = [settings.listen]
    yield check_port("listen", settings.listen)
    if settings.admin.listen is not None:
        listens.append(settings.admin.listen)
        yield check_admin_port(settings.admin.listen)
    yield await check_store(settings.store, clock=time.time)  # noqa: TID251 - a process of its own
    told("Loading the token tables ...")
    vocabulary = Vocabulary()
    yield await check_tables(vocabulary)
    well = []
    if not settings.upstreams:
        yield fault("reachable", "upstreams", "there is none", NONE)
    for name, upstream in settings.upstreams.items():
        told(f"Asking {name} at {upstream.base_url} ...")
        findings = [
            finding async for finding in check_upstream(Patient(name, upstream, listens, headers, environment()))
        ]
        for finding in findings:
            yield finding
        if not any(finding.state == "fault" for finding in findings):
            well.append(name)
    if well:
        async for finding in _windows(settings, vocabulary, headers, (well, models)):
            yield finding


async def _windows(
    settings: AppSettings, vocabulary: Vocabulary, headers: Headers, asked: tuple[Sequence[str], Sequence[str]]
) -> AsyncIterator[Finding]:
    """
    Look up the windows of the routes whose upstreams are *well*.
    """
    well, models = asked
    proxy = await _proxy(settings, vocabulary)
    try:
        for route in reachable(proxy.core.router.routes):
            if route.upstream in well:
                async for finding in check_windows(proxy.diagnosing, route, models or tuple(settings.models), headers):
                    yield finding
    finally:
        await proxy.close()


async def _proxy(settings: AppSettings, vocabulary: Vocabulary) -> Proxy:
    """
    Return a proxy that knows what the store holds, if it holds anything.
    """
    try:
        return await build_to_look(settings, environ=environment(), vocabulary=vocabulary)
    except StoreError:
        empty = settings.model_copy(update={"store": StoreSettings(url="memory://")})
        return await build_to_look(empty, environ=environment(), vocabulary=vocabulary)


def reachable(routes: Sequence[RouteSettings]) -> Iterator[RouteSettings]:
    """
    Yield the routes that a request can come to: those up to the first that takes everything.
    """
    for route in routes:
        yield route
        if route.match.everything:
            return
