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
from proxy.errors import SettingsError

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
    try:
        return load_settings(
            config,
            environ=environment() if environ is None else environ,
            overrides=overrides,
            need_upstream=need_upstream,
        )
    except SettingsError as exc:
        exit_with_mistakes(exc)


def exit_with_mistakes(error: SettingsError) -> NoReturn:
    """
    Print each mistake on a line of its own and exit with 2.
    """
    for mistake in error.mistakes:
        click.echo(mistake, err=True)
    raise SystemExit(EXIT_MISTAKE)
