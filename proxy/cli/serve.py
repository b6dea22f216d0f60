"""
``concertina serve``.
"""

from __future__ import annotations

from pathlib import Path

import click

from proxy.cli.options import config_option, settings_or_exit, upstream_option
from proxy.serving import serve as serve_forever


@click.command()
@config_option
@upstream_option
@click.option("--listen", metavar="HOST:PORT", help="Address that clients connect to; 127.0.0.1:8080 if not given.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes that share the port.")
def serve(config: Path | None, upstream: str | None, listen: str | None, workers: int | None) -> None:
    """
    Serve the proxy.

    Needs no file: `concertina serve --upstream URL` is enough. Options beat CONCERTINA_* variables, which beat the
    file.
    """
    settings = settings_or_exit(config, overrides={"upstream": upstream, "listen": listen, "workers": workers})
    raise SystemExit(serve_forever(settings))
