"""
``concertina serve``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from proxy.cli.options import config_option, settings_or_exit, upstream_option
from proxy.config.environment import environment
from proxy.config.load import load_settings
from proxy.config.strays import stray_variables
from proxy.serving import serve as serve_forever

_STANDARD_INPUT = 0


@click.command()
@config_option
@upstream_option
@click.option("--listen", metavar="HOST:PORT", help="Address that clients connect to; 127.0.0.1:8080 if not given.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes that share the port.")
@click.option("--lifeline", is_flag=True, hidden=True, help="End when standard input does, as `run` wishes it.")
def serve(config: Path | None, upstream: str | None, listen: str | None, workers: int | None, lifeline: bool) -> None:
    r"""
    Serve the proxy.

    Needs no file: `concertina serve --upstream URL` is enough. Options beat CONCERTINA_* variables, which beat the
    file. SIGTERM lets running exchanges end first. SIGHUP reads the file again: new requests go by it if it is right,
    else nothing changes and the log says why.

    \b
      concertina serve --upstream https://api.openai.com/v1
      concertina serve --config concertina.yaml --workers 4
      CONCERTINA_MODE=observe concertina serve --config concertina.yaml
      kill -HUP $(pgrep -of 'concertina serve')
    """
    overrides = {"upstream": upstream, "listen": listen, "workers": workers}
    settings = settings_or_exit(config, overrides=overrides)
    environ = environment()
    read = partial(load_settings, config, environ=environ, overrides=overrides)
    strays = stray_variables(environ, config)
    raise SystemExit(serve_forever(settings, read, strays=strays, lifeline=_STANDARD_INPUT if lifeline else None))
