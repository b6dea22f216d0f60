"""
``concertina version``.
"""

import platform

import click

from proxy import __version__


@click.command()
def version() -> None:
    """
    Print the version.
    """
    click.echo(f"concertina {__version__} (Python {platform.python_version()}, {platform.system()})")
