"""
What is built is whole: the wheel, installed in a fresh environment, serves and compacts.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import aiohttp
import pytest

import proxy
from proxy.chat.json import dumps, loads
from tests.support.conversations import agent_session
from tests.support.processes import free_port

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "proxy"
PATIENCE = 60.0
NAMES = {
    "yaml": "pyyaml",
    "opentelemetry": "opentelemetry-sdk",
    "genai_prices": "genai-prices",
    "prometheus_client": "prometheus-client",
}
"""Distributions that are named otherwise than what they import."""


def normal(name: str) -> str:
    """
    Return the name of a distribution as indexes compare it.
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> set[str]:
    """
    Return the distributions that the project asks for, extras included.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    return {normal(re.split(r"[<>=!~;\[ ]", line, maxsplit=1)[0]) for line in wanted}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Build the wheel from the files that a checkout has.
    """
    folder = tmp_path_factory.mktemp("build")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy2(ROOT / name, source / name)
    shutil.copytree(PACKAGE, source / "proxy", ignore=shutil.ignore_patterns("__pycache__"))
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "-w",
        str(folder),
    ]
    ran = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    if "No module named 'setuptools'" in ran.stderr or "No module named pip" in ran.stderr:
        pytest.skip("pip and setuptools are needed to build a wheel")
    assert ran.returncode == 0, ran.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Install the wheel alone into a fresh environment; what it depends on is found where this Python has it.
    """
    folder = tmp_path_factory.mktemp("env")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    place = next((folder / "lib").glob("python*/site-packages"))
    (place / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "bin" / "concertina"


def test_everything_that_is_imported_is_declared() -> None:
    """
    What another package brings by chance is missing when that package no longer does.
    """
    modules = set()
    for path in PACKAGE.rglob("*.py"):
        modules |= set(re.findall(r"^(?:from|import) ([a-z_]\w*)", path.read_text("utf-8"), re.MULTILINE))
    foreign = {name for name in modules if name not in sys.stdlib_module_names and name not in {"proxy", "__future__"}}

    assert {normal(NAMES.get(name, name)) for name in foreign} - declared() == set()


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    """
    Token tables, dashboard and demo session are no code, and are easily forgotten.
    """
    with ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("proxy/")}
    there = {
        str(path.relative_to(ROOT)) for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }

    assert there - packed == set()
    assert {"proxy/tokens/o200k_base.bin", "proxy/cli/data/demo_session.jsonl"} <= packed


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["version"], ["--help"], ["serve", "--help"], ["explain", "--help"]])
def test_the_installed_command_runs(program: Path, tmp_path: Path, arguments: list[str]) -> None:
    """
    From any folder.
    """
    ran = subprocess.run([str(program), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr
    assert arguments != ["version"] or proxy.__version__ in ran.stdout


@pytest.mark.slow
async def test_the_installed_proxy_compacts(program: Path, tmp_path: Path, upstream_factory: Any) -> None:
    """
    A history that does not fit is answered, exact tables and all, and SIGTERM ends it with 0.
    """
    upstream = await upstream_factory(window=8_192)
    port = free_port()
    file = tmp_path / "c.yaml"
    settings = {
        "listen": f"127.0.0.1:{port}",
        "admin": {"listen": None},
        "store": {"url": f"sqlite:///{tmp_path}/state.db"},
        "upstreams": {"sim": {"base_url": upstream.url, "context_window": 8_192}},
        "compaction": {"summarizer": {"kind": "extractive"}},
    }
    file.write_bytes(dumps(settings))
    process = await asyncio.create_subprocess_exec(
        str(program), "serve", "--config", str(file), cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""},
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{port}"
        async with aiohttp.ClientSession() as http:
            async with asyncio.timeout(PATIENCE):
                while not await is_ready(http, url):
                    await asyncio.sleep(0.1)
            body = dumps({"model": "sim-model", "messages": agent_session(40)})
            async with http.post(f"{url}/v1/chat/completions", data=body) as response:
                action, data = response.headers["x-concertina-action"], loads(await response.read())
    finally:
        process.terminate()
        code = await process.wait()

    assert action == "compacted"
    assert data["choices"][0]["message"]["content"]
    assert code == 0


async def is_ready(http: aiohttp.ClientSession, url: str) -> bool:
    """
    Tell whether the proxy has its tables and says nothing is amiss.
    """
    try:
        async with http.get(f"{url}/readyz") as response:
            return response.status == 200 and loads(await response.read())["notes"] == []
    except aiohttp.ClientError:
        return False
