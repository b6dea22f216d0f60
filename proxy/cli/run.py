"""
``concertina run -- CMD``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path

import click

from proxy.cli.child import LOOPBACK, ProxyDiedError, client_environment, free_port, run_command, running_proxy
from proxy.cli.options import EXIT_FAILURE, config_option, settings_or_exit, upstream_option
from proxy.config.environment import CONFIG, UPSTREAM, environment

DEFAULT_UPSTREAM = "https://api.openai.com/v1"
_PAUSE_SECONDS = 0.05


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@config_option
@upstream_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def run(config: Path | None, upstream: str | None, command: tuple[str, ...]) -> None:
    r"""
    Run a command behind a proxy of its own.

    The proxy listens on a free port of this machine; the command finds it in OPENAI_BASE_URL and OPENAI_API_BASE.
    Exits with the command's exit code. Without --upstream and --config, requests go where OPENAI_BASE_URL pointed
    before, else to https://api.openai.com/v1.

    \b
      concertina run -- python my_agent.py
      concertina run --upstream http://127.0.0.1:11434/v1 -- my-agent --verbose
    """
    environ = environment()
    upstream = upstream or _default_upstream(config, environ)
    port = free_port()
    # Mistakes are explained here, rather than by a process that then cannot be reached.
    settings_or_exit(config, overrides={"upstream": upstream}, environ=environ)
    try:
        with running_proxy(
            _serve_command(config, upstream, port),
            environ=_proxy_environment(environ),
            port=port,
            pause=lambda: time.sleep(_PAUSE_SECONDS),
        ):
            code = run_command(command, client_environment(environ, port))
    except ProxyDiedError as exc:
        click.echo(f"concertina run: {exc}", err=True)
        code = EXIT_FAILURE
    raise SystemExit(code)


def _default_upstream(config: Path | None, environ: Mapping[str, str]) -> str | None:
    if config or environ.get(CONFIG) or environ.get(UPSTREAM):
        return None
    return environ.get("OPENAI_BASE_URL") or DEFAULT_UPSTREAM


def _serve_command(config: Path | None, upstream: str | None, port: int) -> list[str]:
    # -P: the folder that the user stands in may well hold a package named proxy.
    command = [sys.executable, "-P", "-m", "proxy.cli", "serve", "--lifeline"]
    command += ["--listen", f"{LOOPBACK}:{port}", "--workers", "1"]
    command += ["--config", str(config)] if config else []
    return command + (["--upstream", upstream] if upstream else [])


def _proxy_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """
    Return an environment in which the proxy keeps quiet and does not fight another one for the admin port.
    """
    return {"CONCERTINA_LOG_LEVEL": "warning", **environ, "CONCERTINA_ADMIN_LISTEN": "off"}
