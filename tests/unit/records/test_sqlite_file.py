"""
The SQLite file: private, checked, migrated, replaced when it is damaged.
"""

import sqlite3
import stat
from contextlib import closing

import pytest

from proxy.errors import StoreError
from proxy.records import sqlite_file
from proxy.records.sqlite_file import look_into, open_file


def begin(path):
    open_file(path).close()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_file_and_folder_belong_to_their_owner_alone(tmp_path):
    """Summaries are private, and so are the files beside the database."""
    path = tmp_path / "new" / "state.db"
    with closing(open_file(path)) as connection:
        connection.execute("INSERT INTO facts VALUES ('a', x'00', NULL)")

        assert mode(path.parent) == 0o700
        assert {mode(each) for each in path.parent.iterdir()} == {0o600}


def test_an_open_file_is_closed_to_others(tmp_path):
    """A file that an earlier umask left readable is put right."""
    path = tmp_path / "state.db"
    begin(path)
    path.chmod(0o644)
    begin(path)

    assert mode(path) == 0o600


def test_a_folder_that_was_there_is_left_alone(tmp_path):
    """Only what we make is ours to close."""
    tmp_path.chmod(0o755)
    begin(tmp_path / "state.db")

    assert mode(tmp_path) == 0o755


def test_writes_ahead_and_waits_for_others(tmp_path):
    """Several workers share the file."""
    with closing(open_file(tmp_path / "state.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA busy_timeout").fetchone() == (2_000,)


@pytest.mark.parametrize("damage", ["not a database at all" * 400, "header kept"])
def test_a_damaged_file_is_moved_aside_and_a_new_one_begun(tmp_path, damage):
    """The damaged file is kept for whoever wants to look; the proxy goes on with an empty one."""
    path = tmp_path / "state.db"
    with closing(open_file(path)) as connection:
        connection.executemany("INSERT INTO facts VALUES (?, zeroblob(3000), NULL)", [(str(n),) for n in range(50)])
    raw = path.read_bytes()
    damaged = raw[:4096] + b"\xa5" * (len(raw) - 4096) if damage == "header kept" else damage.encode()
    path.write_bytes(damaged)
    with closing(open_file(path)) as connection:
        assert connection.execute("SELECT count(*) FROM facts").fetchone() == (0,)

    assert (tmp_path / "state.db.corrupt").read_bytes() == damaged


def test_another_workers_new_file_is_not_moved_aside(tmp_path):
    """Whoever notices the damage second finds a sound file and keeps it."""
    path = tmp_path / "state.db"
    path.write_bytes(b"damaged" * 1_000)
    noticed = path.stat()
    path.rename(tmp_path / "state.db.corrupt")
    begin(path)
    sqlite_file._move_aside(path, noticed)

    assert path.exists()


def test_a_file_of_another_program_is_refused(tmp_path):
    """A wrong path in the settings must not write into somebody's database."""
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mails (id)")

    with pytest.raises(StoreError, match="belongs to another program"):
        open_file(path)


def test_a_file_of_a_later_version_is_refused(tmp_path):
    """After a downgrade the newer file stays as it is."""
    path = tmp_path / "state.db"
    with closing(open_file(path)) as connection:
        connection.execute("INSERT INTO schema_version VALUES (99)")

    with pytest.raises(StoreError, match="later version"):
        open_file(path)


def test_brings_an_older_file_up_to_date(tmp_path, monkeypatch):
    """Each migration runs once, in order, and what was stored stays."""
    path = tmp_path / "state.db"
    with closing(open_file(path)) as connection:
        connection.execute("INSERT INTO facts VALUES ('a', x'01', NULL)")
    newer = (*sqlite_file.MIGRATIONS, ("ALTER TABLE facts ADD COLUMN extra TEXT",))
    monkeypatch.setattr(sqlite_file, "MIGRATIONS", newer)
    begin(path)
    with closing(open_file(path)) as connection:
        assert connection.execute("SELECT * FROM facts").fetchall() == [("a", b"\x01", None, None)]
        assert connection.execute("SELECT max(version) FROM schema_version").fetchone() == (2,)


def test_a_folder_in_the_way_is_a_store_error(tmp_path):
    """Errors of the file system are translated too, and named."""
    (tmp_path / "state.db").mkdir()

    with pytest.raises(StoreError, match="Is a directory"):
        open_file(tmp_path / "state.db")


class TestLookInto:
    """
    Reads, and does nothing else.
    """

    def test_reads_what_is_only_in_the_log_so_far(self, tmp_path):
        """A proxy may be running on it."""
        path = tmp_path / "state.db"
        with closing(open_file(path)) as proxy:
            proxy.execute("INSERT INTO facts VALUES ('a', x'01', NULL)")
            with closing(look_into(path)) as connection:
                assert connection.execute("SELECT name FROM facts").fetchall() == [("a",)]
                with pytest.raises(sqlite3.OperationalError, match="readonly"):
                    connection.execute("DELETE FROM facts")

    def test_refuses_other_versions(self, tmp_path, monkeypatch):
        """One of an earlier version is for the proxy to bring up to date."""
        path = tmp_path / "state.db"
        begin(path)
        monkeypatch.setattr(sqlite_file, "MIGRATIONS", (*sqlite_file.MIGRATIONS, ("SELECT 1",)))
        with pytest.raises(StoreError, match="earlier version"):
            look_into(path)
        monkeypatch.setattr(sqlite_file, "MIGRATIONS", ())
        with pytest.raises(StoreError, match="later version"):
            look_into(path)

    def test_refuses_what_belongs_to_another_program(self, tmp_path):
        """Its tables are none of ours."""
        path = tmp_path / "theirs.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE mails (id)")

        with pytest.raises(StoreError, match="another program"):
            look_into(path)

    def test_names_with_signs_of_a_url_are_names(self, tmp_path):
        """A path is no URL."""
        path = tmp_path / "a ?mode=rwc#%41.db"
        begin(path)

        look_into(path).close()
        assert [each.name for each in tmp_path.iterdir()] == [path.name]
