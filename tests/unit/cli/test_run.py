from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from proxy.cli.child import ProxyDiedError
from proxy.cli.main import main


class Started:
    """
    Notes what would be started.
    """

    def __init__(self) -> None:
        self.proxy: list[str] = []
        self.proxy_environ: dict[str, str] = {}
        self.command: list[str] = []
        self.environ: dict[str, str] = {}
        self.dies = False

    @contextmanager
    def running_proxy(self, command: Sequence[str], *, environ: Mapping[str, str], port: int, pause) -> Iterator[None]:
        """
        Stand in for the proxy.
        """
        if self.dies:
            raise ProxyDiedError("it ended")
        self.proxy, self.proxy_environ = list(command), dict(environ)
        yield

    def run_command(self, command: Sequence[str], environ: Mapping[str, str]) -> int:
        """
        Stand in for the command.
        """
        self.command, self.environ = list(command), dict(environ)
        return 7


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """
    Starts nothing.
    """
    found = Started()
    monkeypatch.setattr("proxy.cli.run.running_proxy", found.running_proxy)
    monkeypatch.setattr("proxy.cli.run.run_command", found.run_command)
    return found


def test_runs_the_command_behind_the_proxy(runner: CliRunner, started: Started) -> None:
    """
    With its own options left alone, and its exit code handed on.
    """
    result = runner.invoke(main, ["run", "--upstream", "http://a/v1", "--", "agent", "--config", "x", "-v"])
    address = started.proxy[started.proxy.index("--listen") + 1]

    assert result.exit_code == 7
    assert started.command == ["agent", "--config", "x", "-v"]
    assert started.environ["OPENAI_BASE_URL"] == f"http://{address}/v1"
    assert started.proxy[-2:] == ["--upstream", "http://a/v1"]


def test_needs_no_double_dash(runner: CliRunner, started: Started) -> None:
    """
    The first word that is no option begins the command.
    """
    runner.invoke(main, ["run", "agent", "-v"])

    assert started.command == ["agent", "-v"]


@pytest.mark.parametrize(
    ("environ", "upstream"),
    [({}, "https://api.openai.com/v1"), ({"OPENAI_BASE_URL": "http://gateway/v1"}, "http://gateway/v1")],
)
def test_goes_where_the_command_went_before(
    runner: CliRunner, started: Started, environ: dict[str, str], upstream: str
) -> None:
    """
    So that nothing but the way there changes.
    """
    runner.invoke(main, ["run", "--", "agent"], env=environ)

    assert started.proxy[-2:] == ["--upstream", upstream]


def test_a_file_names_its_own_upstreams(runner: CliRunner, started: Started, tmp_path: Path) -> None:
    """
    Which OPENAI_BASE_URL must not replace.
    """
    file = tmp_path / "c.yaml"
    file.write_text("upstreams: {a: {base_url: 'http://a'}}")
    runner.invoke(main, ["run", "--config", str(file), "--", "agent"], env={"OPENAI_BASE_URL": "http://gateway/v1"})

    assert started.proxy[-2:] == ["--config", str(file)]


def test_the_proxy_ends_with_its_standard_input(runner: CliRunner, started: Started) -> None:
    """
    Which ends even where nobody could tell it.
    """
    runner.invoke(main, ["run", "--", "agent"])

    assert "--lifeline" in started.proxy


def test_the_proxy_is_quiet_and_leaves_the_admin_port_alone(runner: CliRunner, started: Started) -> None:
    """
    Another proxy may run already, and the terminal belongs to the command.
    """
    runner.invoke(main, ["run", "--", "agent"])

    assert started.proxy_environ["CONCERTINA_ADMIN_LISTEN"] == "off"
    assert started.proxy_environ["CONCERTINA_LOG_LEVEL"] == "warning"


def test_a_package_of_the_users_own_that_is_called_proxy_is_not_imported(runner: CliRunner, started: Started) -> None:
    """
    ``python -m`` would look in the present folder first.
    """
    runner.invoke(main, ["run", "--", "agent"])

    assert "-P" in started.proxy[: started.proxy.index("-m")]


def test_mistakes_end_it_before_anything_is_started(runner: CliRunner, started: Started) -> None:
    """
    With their own exit code.
    """
    result = runner.invoke(main, ["run", "--upstream", "nope", "--", "agent"])

    assert (result.exit_code, started.command) == (2, [])
    assert result.stderr.startswith("--upstream: upstreams.default.base_url: should be a URL")


def test_a_proxy_that_does_not_start_is_a_failure(runner: CliRunner, started: Started) -> None:
    """
    Told in one line.
    """
    started.dies = True
    result = runner.invoke(main, ["run", "--", "agent"])

    assert (result.exit_code, result.stderr) == (1, "concertina run: it ended\n")
