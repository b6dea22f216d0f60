import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from proxy.chat.json import loads
from proxy.cli.main import main
from proxy.records.sqlite import SqliteStore
from tests.support.stores import FakeClock, record

ONE_TURN = '{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'


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


PROXY = """
import sys
from pathlib import Path
from proxy.records.sqlite_file import open_file
connection = open_file(Path(sys.argv[1]))
connection.execute("INSERT INTO facts VALUES ('a', x'00', NULL)")
print("written", flush=True)
sys.stdin.read()
connection.close()
"""
"""Does as a proxy does with the file: another process, since SQLite shares the index of a log within one."""
WAYS = [("list",), ("show", "aaaa1"), ("export", "aaaa1"), ("export", "--request", "{request}")]
"""Every way to ask the store."""


def asked(runner: CliRunner, folder: Path, way: Sequence[str]) -> Result:
    """
    Ask the store at ``state.db`` of *folder* one way.
    """
    request = folder / "request.json"
    request.write_text(ONE_TURN)
    config = folder / "c.yaml"
    config.write_text(f"store: {{url: 'sqlite:///{folder}/kept/state.db'}}\nupstreams: {{a: {{base_url: 'http://a'}}}}")
    return run(runner, config, *(word.format(request=request) for word in way))


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
@pytest.mark.parametrize(
    ("file", "why"),
    [
        (b"an important letter\n" * 400, "no database"),
        (b"\0" * 5_000, "no database"),
        (b"", "nothing in the file yet"),
        (None, "No such file"),
    ],
    ids=["text", "zeros", "empty", "none"],
)
def test_what_is_no_store_is_told_and_left_as_it_is(
    runner: CliRunner, tmp_path: Path, file: bytes | None, why: str, way: Sequence[str]
) -> None:
    """
    A proxy moves a damaged file aside and begins a new one; who only asks may have given a wrong path.
    """
    folder = tmp_path / "kept"
    if file is not None:
        folder.mkdir()
        (folder / "state.db").write_bytes(file)
    before = told(folder)
    result = asked(runner, tmp_path, way)

    assert (result.exit_code, result.stdout) == (1, "")
    assert why in result.stderr
    assert f"{folder}/state.db" in result.stderr
    assert told(folder) == before
    assert folder.exists() == (file is not None)


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
@pytest.mark.parametrize("state", ["closed", "running", "killed"])
def test_asking_changes_no_file(runner: CliRunner, config: Path, state: str, way: Sequence[str]) -> None:
    """
    Nor makes one beside it: whether a proxy runs on it, was stopped, or was killed with a log left behind.
    """
    folder = config.parent / "kept"
    folder.mkdir()
    (config.parent / "state.db").rename(folder / "state.db")
    with left(folder / "state.db", state):
        before = told(folder)
        result = asked(runner, config.parent, way)
        assert told(folder) == before
        if way[0] in {"list", "show"}:
            assert "Fix the login bug" in result.stdout


def told(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """
    Return all that a folder holds: bytes, mode and time of change of each file.
    """
    files = {path: path.stat() for path in folder.glob("*")}
    return {path.name: (path.read_bytes(), stat.st_mode, stat.st_mtime_ns) for path, stat in files.items()}


@contextmanager
def left(path: Path, state: str) -> Iterator[None]:
    """
    Leave the file as a proxy does that was stopped, still runs with something in its log, or was killed.
    """
    if state == "closed":
        yield
        return
    command = [sys.executable, "-c", PROXY, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as proxy:
        assert proxy.stdout is not None
        assert proxy.stdout.readline() == b"written\n"
        if state == "killed":
            proxy.kill()
            proxy.wait()
        assert {each.name for each in path.parent.iterdir()} == {"state.db", "state.db-wal", "state.db-shm"}
        yield
