"""
``concertina check FILE``.
"""

from pathlib import Path

import click

from proxy.cli.options import settings_or_exit, tell_strays
from proxy.config.environment import environment


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    r"""
    Check a configuration file.

    Prints ok, or every mistake as FILE:LINE: setting: cause, and exits with 2. Variables that the file refers to are
    taken from the environment, as `serve` would; nothing is contacted. A CONCERTINA_* variable that sets nothing is told
    on stderr, and is no mistake.

    \b
      concertina check concertina.yaml
      concertina check concertina.yaml && kill -HUP $(pgrep -of 'concertina serve')
    """
    settings_or_exit(file)
    tell_strays(file, environment())
    click.echo("ok")
