import sys

import pytest
from click.testing import CliRunner

from proxy import serving
from proxy.config.environment import environment


@pytest.fixture(autouse=True)
def clean_environ(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    No variable of the machine reaches a verb.
    """
    for name in environment():
        if name.startswith(("CONCERTINA_", "OPENAI_")):
            monkeypatch.delenv(name)


@pytest.fixture
def runner() -> CliRunner:
    """
    Runs a verb in this process.
    """
    return CliRunner()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list:
    """
    Collects the settings that ``serve`` was called with, in place of serving for ever.
    """
    found: list = []

    def serve(settings: object, _read: object = None, **_: object) -> int:
        found.append(settings)
        return 0

    monkeypatch.setattr(serving, "serve", serve)
    monkeypatch.delitem(sys.modules, "proxy.cli.serve", raising=False)
    yield found
    sys.modules.pop("proxy.cli.serve", None)
