"""
What the documents show works: configurations are right, verbs and options exist, commands run as printed.
"""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import click
import pytest

from proxy.chat.json import dumps, loads
from proxy.cli.main import COMMANDS, main
from proxy.config.load import load_settings
from proxy.simulator.script_file import parse_script
from tests.support.conversations import agent_session

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PORTS = (8080, 8081, 11434)


def blocks(fence: str, pages: list[Path]) -> Iterator[Any]:
    """
    Yield each fenced block of a kind, named by its page and place.
    """
    for page in pages:
        for number, (found, text) in enumerate(_BLOCK.findall(page.read_text("utf-8")), start=1):
            if found.strip() == fence:
                yield pytest.param(text, id=f"{page.relative_to(ROOT)}#{number}")


def name_of(page: Path) -> str:
    """
    Return a page as test ids show it.
    """
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("text", [*blocks("yaml", PAGES)])
def test_a_configuration_is_right(tmp_path: Path, text: str) -> None:
    """
    As ``check`` sees it, with every variable that it names set.
    """
    (tmp_path / "c.yaml").write_text(text, "utf-8")
    environ = dict.fromkeys(re.findall(r"\$\{(\w+)", text), "a-long-enough-secret")

    load_settings(tmp_path / "c.yaml", environ=environ, need_upstream=False)


@pytest.mark.parametrize("text", [*blocks("yaml script", PAGES)])
def test_a_script_of_the_simulator_is_right(text: str) -> None:
    """
    Its steps are known.
    """
    assert parse_script(text)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_verbs_and_their_options_exist(page: Path) -> None:
    """
    In running text as well as in blocks.
    """
    text = page.read_text("utf-8")
    for verb, rest in re.findall(r"(?:^|`|&& )concertina ([a-z]+)((?: [^`\n&|]*)?)", text, re.MULTILINE):
        assert verb in COMMANDS, f"concertina {verb}"
        command = main.get_command(click.Context(main), verb)
        assert command is not None
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        known |= {"--help", "-h"}
        if isinstance(command, click.Group):
            continue
        own = rest.split(" -- ")[0]
        assert set(re.findall(r"(?<=\s)(--?[a-z][a-z-]*)", own)) <= known, f"concertina {verb}{rest}"


def test_every_verb_is_in_the_readme() -> None:
    """
    So that it is found.
    """
    named = set(re.findall(r"`concertina ([a-z]+)", (ROOT / "README.md").read_text("utf-8")))

    assert named >= set(COMMANDS)


def test_every_recipe_is_listed() -> None:
    """
    On the page of recipes.
    """
    listed = set(re.findall(r"\]\(([a-z-]+\.md)\)", (ROOT / "docs/recipes/README.md").read_text("utf-8")))

    assert listed == {path.name for path in (ROOT / "docs/recipes").glob("*.md")} - {"README.md"}


def test_the_chinese_readme_keeps_up() -> None:
    """
    The same blocks and the same commands, in another language.
    """
    one, other = ((ROOT / name).read_text("utf-8") for name in ("README.md", "README.zh-CN.md"))
    fenced = [[text for _, text in _BLOCK.findall(page)] for page in (one, other)]

    assert fenced[0] == fenced[1]
    assert set(re.findall(r"`(concertina [a-z]+)", one)) == set(re.findall(r"`(concertina [a-z]+)", other))
    assert re.findall(r"\((docs/[^)]+|[a-z.]+\.yaml)\)", one) == re.findall(r"\((docs/[^)]+|[a-z.]+\.yaml)\)", other)


def checkout(folder: Path) -> Path:
    """
    Copy what a checkout has and a package is built from.
    """
    place = folder / "checkout"
    shutil.copytree(ROOT / "proxy", place / "proxy", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "config.example.yaml"):
        shutil.copy2(ROOT / name, place / name)
    return place


def free_or_skip() -> None:
    """
    Skip where a port that the README names is taken on this machine.
    """
    for port in _PORTS:
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            pytest.skip(f"port {port}, which the README names, is taken here")


@pytest.mark.slow
async def test_the_first_steps_lead_to_a_compacted_answer(
    upstream_factory: Any, proxy_factory: Any, tmp_path: Path
) -> None:
    """
    As the page says: passed through, compacted, and reused from then on.
    """
    pytest.importorskip("openai")
    [program] = [param.values[0] for param in blocks("python", [ROOT / "docs/getting-started.md"])]
    proxied = await proxy_factory((await upstream_factory(window=8_192)).url, upstream={"context_window": 8_192})
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program),
        env={**os.environ, "OPENAI_BASE_URL": proxied.url, "NO_PROXY": "127.0.0.1"},
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    actions = [line.split()[1] for line in printed.decode().splitlines()]

    assert len(actions) == 40
    assert list(dict.fromkeys(actions)) == ["passthrough", "compacted", "reused"]


async def until_the_window_is_known(http: aiohttp.ClientSession, url: str) -> None:
    """
    Chat until the admin port tells the server's own window; a busy machine takes longer than a request waits for it.
    """
    small = dumps({"model": "sim-model", "messages": [{"role": "user", "content": "hello"}]})
    for _ in range(100):
        async with http.post(url, data=small) as response:
            await response.read()
        async with http.get("http://127.0.0.1:8081/api/windows") as response:
            if 8_192 in {known.get("window") for known in loads(await response.read())["windows"]}:
                return
        await asyncio.sleep(0.1)
    pytest.fail("the window was never learned")


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_the_commands_of_the_readme_run_as_printed(tmp_path: Path, upstream_factory: Any) -> None:
    """
    On a fresh environment, from the first line to a compacted answer, in under three minutes.

    A server stands where the README says that there is one.
    """
    free_or_skip()
    upstream = await upstream_factory(window=8_192, models_field="context_length", summary_header="x-none")
    relay = await asyncio.start_server(lambda r, w: carry(r, w, upstream.url), "127.0.0.1", 11434)
    text = (ROOT / "README.md").read_text("utf-8")
    script = "\n".join(text for fence, text in _BLOCK.findall(text) if fence == "sh")
    home = tmp_path / "home"
    home.mkdir()
    env = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    started = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *("bash", "-euo", "pipefail", "-c", script + "\nwait"), cwd=checkout(tmp_path), env={**env, "HOME": str(home)},
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        said = await until_serving(process)
        body = dumps({"model": "sim-model", "messages": agent_session(40)})
        url = "http://127.0.0.1:8080/v1/chat/completions"
        async with aiohttp.ClientSession() as http:
            await until_the_window_is_known(http, url)
            async with http.post(url, data=body) as response:
                action, data = response.headers.get("x-concertina-action"), loads(await response.read())
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        await process.wait()
        relay.close()

    assert "turns answered" in said
    assert "no fault was found" in said
    assert action == "compacted"
    assert data["choices"]
    assert time.monotonic() - started < 600


async def until_serving(process: asyncio.subprocess.Process) -> str:
    """
    Return what was printed until the proxy listens; skip where no package index can be reached.
    """
    assert process.stdout is not None
    said: list[str] = []
    async for line in process.stdout:
        said.append(line.decode("utf-8", "replace"))
        if "admin.listening" in said[-1]:
            return "".join(said)
    text = "".join(said)
    if "No matching distribution" in text or "Could not find a version" in text or "ConnectionError" in text:
        pytest.skip("no package index can be reached from here")
    raise AssertionError(text[-4_000:])


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, url: str) -> None:
    """
    Carry one connection to the simulator, whichever port it has.
    """
    port = int(url.rsplit(":", 1)[1].partition("/")[0])
    inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)

    async def pipe(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                target.write(data)
                await target.drain()
        except ConnectionError:
            pass
        finally:
            target.close()

    await asyncio.gather(pipe(reader, inner_writer), pipe(inner_reader, writer), return_exceptions=True)
