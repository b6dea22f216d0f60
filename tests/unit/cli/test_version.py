from click.testing import CliRunner

from proxy import __version__
from proxy.cli.main import main


def test_prints_what_a_bug_report_needs(runner: CliRunner) -> None:
    """
    The version, and what it runs on.
    """
    output = runner.invoke(main, ["version"]).output

    assert output.startswith(f"concertina {__version__} (Python 3.")
