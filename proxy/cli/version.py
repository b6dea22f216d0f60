"""
``concertina version``.
"""

import platform

import click

from proxy import __version__


@click.command()
def version() -> None:
    r"""
    Print the version.

    With those of Python and the system, as a report of a fault should have them.

    \b
      concertina version
      concertina --version
    """
    click.echo(f"concertina {__version__} (Python {platform.python_version()}, {platform.system()})")
