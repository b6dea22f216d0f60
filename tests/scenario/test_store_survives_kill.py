"""
Processes that die, and processes that start together, on one SQLite file.
"""

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from proxy.records.sqlite import SqliteStore
from proxy.records.sqlite_file import open_file
from tests.support.stores import FakeClock

ROOT = Path(__file__).resolve().parents[2]

WRITER = """
import asyncio, sys
from pathlib import Path
from proxy.records.sqlite import SqliteStore
from tests.support.stores import FakeClock, record

async def write(path, name):
    store = await SqliteStore.open(path, clock=FakeClock())
    for number in range(100_000):
        key = f"{name}-{number}"
        await store.put(record(key, summary="x" * 3_000))
        print(key, flush=True)

asyncio.run(write(Path(sys.argv[1]), sys.argv[2]))
"""

OPENER = """
import sys, time
from pathlib import Path
from proxy.records.sqlite_file import open_file

print("ready", flush=True)
begin = float(sys.stdin.readline())
for number in range(int(sys.argv[3])):
    time.sleep(max(begin + number / 20 - time.time(), 0))
    connection = open_file(Path(sys.argv[1], str(number), "state.db"))
    connection.execute("INSERT INTO facts VALUES (?, x'00', NULL)", (sys.argv[2],))
    connection.close()
"""
FILES = 60
OPENERS = 8


def python(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def killed_while_writing(path, name, *, after):
    """Let a process write, kill it in the middle, and return the keys that it was told are kept."""
    with python(WRITER, str(path), name) as writer:
        first = [writer.stdout.readline().strip() for _ in range(after)]
        writer.kill()
        rest = writer.stdout.read().split("\n")[:-1]
    return first + rest


@pytest.mark.slow
async def test_every_record_that_was_kept_survives_a_kill(tmp_path):
    """Killed again and again while writing, the file opens sound and holds all that was said to be kept."""
    path = tmp_path / "state.db"
    kept = []
    for turn, after in enumerate((1, 7, 40)):
        kept += killed_while_writing(path, str(turn), after=after)
    store = await SqliteStore.open(path, clock=FakeClock())
    found = await store.find([f"d-{key}" for key in kept])
    await store.close()

    assert len(kept) >= 48
    assert found.keys() == {f"d-{key}" for key in kept}
    assert not path.with_name("state.db.corrupt").exists()


@pytest.mark.slow
def test_workers_that_start_together_share_one_new_file(tmp_path):
    """
    Workers open a file that none of them finds, again and again: all succeed, and nothing is lost.

    SQLite refuses some of those who make the same file at once, without waiting for the others.
    """
    workers = [python(OPENER, str(tmp_path), str(number), str(FILES)) for number in range(OPENERS)]
    for worker in workers:
        worker.stdout.readline()
    begin = time.time() + 0.1
    for worker in workers:
        worker.stdin.write(f"{begin}\n")
        worker.stdin.flush()
    for worker in workers:
        worker.communicate()

    assert [worker.returncode for worker in workers] == [0] * OPENERS
    for number in range(FILES):
        with closing(open_file(tmp_path / str(number) / "state.db")) as connection:
            assert connection.execute("SELECT count(*) FROM facts").fetchone() == (OPENERS,)
