"""
Options that several verbs share, and how their mistakes end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from proxy.config.environment import environment
from proxy.config.load import load_settings
from proxy.config.settings import AppSettings
from proxy.config.strays import stray_variables
from proxy.errors import SettingsError
from proxy.upstream.wire import Headers

EXIT_FAILURE = 1
EXIT_MISTAKE = 2

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def config_option(function: Decorated) -> Decorated:
    """
    Add ``--config FILE``.
    """
    return click.option(
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="YAML file; CONCERTINA_CONFIG if not given.",
    )(function)


def upstream_option(function: Decorated) -> Decorated:
    """
    Add ``--upstream URL``.
    """
    return click.option(
        "--upstream", metavar="URL", help="Address of the API; with a file, that of its first upstream."
    )(function)


def header_option(function: Decorated) -> Decorated:
    """
    Add ``-H NAME:VALUE``, as curl has it; the verb gets *headers*.
    """
    return click.option(
        "-H",
        "--header",
        "headers",
        multiple=True,
        callback=_headers,
        metavar="'NAME: VALUE'",
        help="A header that the client sends, such as its key.",
    )(function)


def _headers(_ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> Headers:
    pairs = [value.partition(":") for value in values]
    if any(not colon or not name.strip() for name, colon, _ in pairs):
        raise click.BadParameter("write NAME: VALUE, such as 'x-tenant: search'")
    return tuple((name.strip(), text.strip()) for name, _, text in pairs)


def settings_or_exit(
    config: Path | None,
    *,
    overrides: Mapping[str, object] | None = None,
    need_upstream: bool = True,
    environ: Mapping[str, str] | None = None,
) -> AppSettings:
    """
    Load settings; print the mistakes and exit with 2 where there are any.
    """
    environ = environment() if environ is None else environ
    try:
        return load_settings(config, environ=environ, overrides=overrides, need_upstream=need_upstream)
    except SettingsError as exc:
        # What is missing may stand there under a name with a slip in it.
        tell_strays(config, environ)
        exit_with_mistakes(exc)


def tell_strays(config: Path | None, environ: Mapping[str, str]) -> None:
    """
    Print the variables that set nothing although they look like ours.
    """
    for stray in stray_variables(environ, config):
        click.echo(stray, err=True)


def exit_with_mistakes(error: SettingsError) -> NoReturn:
    """
    Print each mistake on a line of its own and exit with 2.
    """
    for mistake in error.mistakes:
        click.echo(mistake, err=True)
    raise SystemExit(EXIT_MISTAKE)
