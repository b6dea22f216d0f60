import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from proxy.chat.json import loads
from proxy.cli.main import main
from proxy.records.sqlite import SqliteStore
from tests.support.stores import FakeClock, record


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """
    A configuration whose store holds a conversation of two sessions.
    """
    path = tmp_path / "state.db"

    async def fill() -> None:
        store = await SqliteStore.open(path, clock=FakeClock(4e9))
        first = record("aaaa1", title="Fix the login bug", created=1e9, model="m", before_tokens=9_000)
        await store.put(first)
        await store.put(record("bbbb1", parent="aaaa1", title="Fix the login bug", created=1e9 + 60, summary="Fixed."))
        await store.put(record("bbbb2", created=1e9 - 60))
        await store.close()

    asyncio.run(fill())
    file = tmp_path / "c.yaml"
    file.write_text(f"store: {{url: 'sqlite:///{path}'}}\nupstreams: {{a: {{base_url: 'http://a'}}}}")
    return file


def run(runner: CliRunner, config: Path, *words: str) -> Result:
    """
    Run ``concertina sessions`` with this configuration.
    """
    return runner.invoke(main, ["sessions", *words, "--config", str(config)])


def test_lists_the_newest_first(runner: CliRunner, config: Path) -> None:
    """
    A line each, under the names of its parts: id, time, what ended it, tokens saved, title.
    """
    columns, *lines = run(runner, config, "list").stdout.splitlines()

    assert columns.split()[0] == "id"
    assert [line.split()[0] for line in lines] == ["bbbb1", "aaaa1", "bbbb2"]
    assert "Fix the login bug (2)" in lines[0]
    assert "2001-09-09 01:46" in lines[1]
    assert "9,000 tokens saved" in lines[1]


def test_lists_as_json_lines(runner: CliRunner, config: Path) -> None:
    """
    For scripts.
    """
    found = [loads(line) for line in run(runner, config, "list", "--json", "--limit", "1").stdout.splitlines()]

    assert [(each["id"], each["parent"], each["number"]) for each in found] == [("bbbb1", "aaaa1", 2)]


def test_shows_a_session_by_the_beginning_of_its_id(runner: CliRunner, config: Path) -> None:
    """
    Its lineage, and the summary that is sent.
    """
    result = run(runner, config, "show", "bbbb1"[:5])

    assert result.exit_code == 0
    assert result.stdout.index("aaaa1") < result.stdout.index("bbbb1")
    assert "Fixed." in result.stdout


def test_shows_as_json(runner: CliRunner, config: Path) -> None:
    """
    All that the admin port tells.
    """
    shown = loads(run(runner, config, "show", "aa", "--json").stdout)

    assert (shown["session"]["id"], shown["session"]["reason"], shown["record"]["model"]) == (
        "aaaa1",
        "compaction",
        "m",
    )


@pytest.mark.parametrize("asked", ["zzzz", "bbbb"])
def test_an_unknown_or_ambiguous_id_is_a_failure(runner: CliRunner, config: Path, asked: str) -> None:
    """
    Exit code 1, and nothing on stdout.
    """
    result = run(runner, config, "show", asked)

    assert (result.exit_code, result.stdout) == (1, "")
    assert asked in result.stderr


def test_a_store_in_memory_cannot_be_read_from_outside(runner: CliRunner, tmp_path: Path) -> None:
    """
    It says where to ask instead.
    """
    file = tmp_path / "c.yaml"
    file.write_text("store: {url: 'memory://'}\nupstreams: {a: {base_url: 'http://a'}}")
    result = run(runner, file, "list")

    assert (result.exit_code, "admin port" in result.stderr) == (1, True)


def test_a_store_that_cannot_be_read_is_a_failure(runner: CliRunner, tmp_path: Path) -> None:
    """
    Not an empty list.
    """
    file = tmp_path / "c.yaml"
    (tmp_path / "other.db").mkdir()
    file.write_text(f"store: {{url: 'sqlite:///{tmp_path}/other.db'}}\nupstreams: {{a: {{base_url: 'http://a'}}}}")
    result = run(runner, file, "list")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "store sqlite" in result.stderr
