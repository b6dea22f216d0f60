import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from proxy import __version__
from proxy.cli.main import COMMANDS, HELP, main


def test_help_shows_how_to_begin(runner: CliRunner) -> None:
    """
    By example, with nothing to look up first.
    """
    text = runner.invoke(main, ["--help"]).output

    assert "concertina serve --upstream https://api.openai.com/v1\n" in text
    assert "export OPENAI_BASE_URL=http://127.0.0.1:8080/v1\n" in text
    assert "Exit codes: 0 ok, 1 failure, 2 usage or configuration mistake." in text


@pytest.mark.parametrize("arguments", [["--version"], ["-V"]])
def test_prints_its_version(runner: CliRunner, arguments: list[str]) -> None:
    """
    As an option, for scripts.
    """
    assert runner.invoke(main, arguments).output == f"concertina {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["serve", "--nonsense"], ["serve", "--workers", "0"], ["check"], ["run"]]
)
def test_wrong_usage_exits_with_two(runner: CliRunner, served: list, arguments: list[str]) -> None:
    """
    As the exit codes promise.
    """
    assert runner.invoke(main, arguments).exit_code == 2
    assert served == []


@pytest.mark.parametrize("verb", COMMANDS)
def test_the_table_says_what_the_verb_says(served: list, verb: str) -> None:
    """
    Help is written twice so that listing verbs imports none of them.
    """
    command = main.get_command(click.Context(main), verb)

    assert command is not None
    assert command.get_short_help_str(100) == HELP[verb]


def test_the_help_table_has_the_verbs_of_the_other() -> None:
    """
    In the same order.
    """
    assert list(HELP) == list(COMMANDS)


def test_listing_verbs_imports_nothing_slow() -> None:
    """
    The shell asks for completions at every key.
    """
    code = "import sys; from proxy.cli.main import main; main(['--help'], standalone_mode=False); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert not re.search(r"'(pydantic|aiohttp|httpx|yaml|tiktoken|proxy\.config)'", loaded)


def test_runs_as_a_module() -> None:
    """
    Where no script is installed.
    """
    root = Path(__file__).resolve().parents[3]
    found = subprocess.run([sys.executable, "-m", "proxy.cli", "--version"], cwd=root, capture_output=True, check=True)

    assert found.stdout.decode() == f"concertina {__version__}\n"


@pytest.mark.parametrize("verb", COMMANDS)
def test_help_of_each_verb_teaches_by_example(runner: CliRunner, served: list, verb: str) -> None:
    """
    At least one line that can be copied as it is, and whose options exist.
    """
    text = runner.invoke(main, [verb, "--help"]).output
    examples = re.findall(rf"^ +concertina {verb}\b.*$", text, re.MULTILINE)

    assert examples
    command = main.get_command(click.Context(main), verb)
    assert command is not None
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    for line in examples:
        own = re.split(r" -- | \| | && ", line)[0]
        assert isinstance(command, click.Group) or set(re.findall(r"(?<= )--?[a-z][a-z-]*", own)) <= known, line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_verbs(shell: str) -> None:
    """
    By click's own means, as getting started tells.
    """
    word = "ex" if shell == "fish" else "1"
    asked = {"_CONCERTINA_COMPLETE": f"{shell}_complete", "COMP_WORDS": "concertina ex", "COMP_CWORD": word}
    code = "import sys; sys.argv[0] = 'concertina'; from proxy.cli.main import main; main(prog_name='concertina')"
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=False)

    assert "explain" in ran.stdout
