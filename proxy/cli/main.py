"""
The command ``concertina``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click

from proxy import __version__

# Verb to module; the verb's function has the module's name. Modules are imported only when their verb is used: what
# `serve` needs takes more than half a second to import, which `--help`, `version` and completion should not cost.
COMMANDS: Mapping[str, str] = {
    "serve": "proxy.cli.serve",
    "check": "proxy.cli.check",
    "explain": "proxy.cli.explain",
    "doctor": "proxy.cli.doctor",
    "run": "proxy.cli.run",
    "demo": "proxy.cli.demo",
    "simulate": "proxy.cli.simulate",
    "sessions": "proxy.cli.sessions",
    "version": "proxy.cli.version",
}
# Help of each verb, so that listing them imports none of them; a test compares.
HELP: Mapping[str, str] = {
    "serve": "Serve the proxy.",
    "check": "Check a configuration file.",
    "explain": "Explain what would be done to a request.",
    "doctor": "Find out why the proxy does not work, or would not.",
    "run": "Run a command behind a proxy of its own.",
    "demo": "Show a long session with and without the proxy.",
    "simulate": "Simulate an OpenAI-compatible API.",
    "sessions": "List, show and export past conversations.",
    "version": "Print the version.",
}

EPILOG = """
\b
Put it in front of an API:
  concertina serve --upstream https://api.openai.com/v1
  export OPENAI_BASE_URL=http://127.0.0.1:8080/v1

\b
Run one program behind it, and nothing else:
  concertina run -- python my_agent.py

\b
In front of a local server with a small window:
  concertina serve --upstream http://127.0.0.1:11434/v1

\b
With a configuration file (see config.example.yaml):
  concertina check concertina.yaml
  concertina serve --config concertina.yaml

Exit codes: 0 ok, 1 failure, 2 usage or configuration mistake.
"""


class LazyGroup(click.Group):
    """
    A group that imports a verb's module when the verb is used.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """
        Return the verbs in the order of the table.
        """
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """
        Import and return the verb.
        """
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        command = getattr(importlib.import_module(COMMANDS[cmd_name]), cmd_name)
        assert isinstance(command, click.Command)
        return _with_examples(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """
        Write the list of verbs without importing them.
        """
        with formatter.section("Commands"):
            formatter.write_dl([(name, HELP[name]) for name in self.list_commands(ctx)])


def _with_examples(command: click.Command) -> click.Command:
    """
    Keep the lines of examples apart: click wants a backspace before them, which raw docstrings write as two characters.
    """
    command.help = (command.help or "").replace("\\b\n", "\b\n")
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _with_examples(inner)
    return command


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="concertina", message="%(prog)s %(version)s")
def main() -> None:
    """
    Fold long chat histories on their way to the model, so that they fit its context window.

    Concertina speaks the OpenAI API on both sides. What fits goes through byte for byte.
    """
