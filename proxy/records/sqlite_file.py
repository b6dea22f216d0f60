"""
Open the SQLite file: private to its owner, checked, migrated; a corrupted one is moved aside and a new one begun.
Or look into it, and change nothing.

Everything here blocks and runs in the connection's own thread.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from time import monotonic, sleep

from proxy.errors import StoreError

BUSY_SECONDS = 2.0
NO_DATABASE = "corrupted, or no database at all"
EMPTY = "there is nothing in the file yet"
OLDER = "the file was made by an earlier version, and has yet to be brought up to date by the proxy"
_AGAIN_SECONDS = 0.01

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE records (
            key TEXT PRIMARY KEY, digest TEXT NOT NULL, created REAL NOT NULL,
            used REAL NOT NULL, size INTEGER NOT NULL, body BLOB NOT NULL
        )
        """,
        "CREATE INDEX records_by_digest ON records (digest)",
        "CREATE INDEX records_by_creation ON records (created)",
        "CREATE INDEX records_by_use ON records (used, size)",
        "CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL, expires REAL) WITHOUT ROWID",
        "CREATE TABLE leases (key TEXT PRIMARY KEY, token TEXT NOT NULL, expires REAL NOT NULL) WITHOUT ROWID",
    ),
)
"""Each entry brings a file one version further; entries are only ever appended."""

_CAUSES = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read-only",
    sqlite3.SQLITE_CORRUPT: "corrupted",
    sqlite3.SQLITE_NOTADB: "corrupted",
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_IOERR: "input or output failed",
    sqlite3.SQLITE_PERM: "not permitted",
}
_PRIMARY_CODE = 0xFF


def cause_of(exc: Exception) -> str:
    """
    Name what SQLite or the file system complains of, without any value of ours.
    """
    if isinstance(exc, OSError):
        return exc.strerror or type(exc).__name__
    code = getattr(exc, "sqlite_errorcode", None)
    return _CAUSES.get((code or 0) & _PRIMARY_CODE, type(exc).__name__)


def open_file(path: Path) -> sqlite3.Connection:
    """
    Return a connection to a sound, migrated file. Raises ``StoreError``.
    """
    try:
        _make_private(path)
        before = path.stat()
        try:
            return _connect(path)
        except sqlite3.DatabaseError as exc:
            if cause_of(exc) != "corrupted":
                raise
        _move_aside(path, before)
        _make_private(path)
        return _connect(path)
    except (sqlite3.Error, OSError) as exc:
        raise StoreError("sqlite", cause_of(exc)) from exc


def look_into(path: Path) -> sqlite3.Connection:
    """
    Return a connection that only reads; no file is made, moved or changed. Raises ``StoreError``.
    """
    try:
        return _looking(path.resolve(strict=True))
    except (sqlite3.Error, OSError) as exc:
        cause = cause_of(exc)
        raise StoreError("sqlite", NO_DATABASE if cause == "corrupted" else cause) from exc


def _looking(path: Path) -> sqlite3.Connection:
    # Without a log beside it nobody has the file open, and SQLite would make one. With a log, the index of the log is
    # only read: a proxy may be running on it.
    way = "readonly_shm=1" if path.with_name(path.name + "-wal").exists() else "immutable=1"
    uri = f"{path.as_uri()}?mode=ro&{way}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        _check(connection)
        _refuse_foreign(connection)
        _refuse_unreadable(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite gives the files beside it (-wal, -shm) the mode of this one.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)


def _connect(path: Path) -> sqlite3.Connection:
    """
    Return a connection; where several processes make the same new file, SQLite refuses some of them without waiting.
    """
    until = monotonic() + BUSY_SECONDS
    while True:
        try:
            return _connect_now(path)
        except sqlite3.OperationalError as exc:
            if cause_of(exc) != "busy" or monotonic() >= until:
                raise
        sleep(_AGAIN_SECONDS)


def _connect_now(path: Path) -> sqlite3.Connection:
    # No isolation level: every statement is its own transaction unless we say BEGIN.
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        error = sqlite3.DatabaseError("quick_check failed")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def _prepare(connection: sqlite3.Connection) -> None:
    _check(connection)
    _refuse_foreign(connection)
    if connection.execute("PRAGMA page_count").fetchone() == (0,):
        # Only an empty file takes it; in others the statement would write for nothing.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    # A killed process loses nothing; a power cut may cost the last records, which cost a summary each.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA secure_delete = ON")
    _migrate(connection)


def _refuse_foreign(connection: sqlite3.Connection) -> None:
    tables = _tables(connection)
    if tables and "schema_version" not in tables:
        raise StoreError("sqlite", "the file belongs to another program")


def _refuse_unreadable(connection: sqlite3.Connection) -> None:
    if not _tables(connection):
        raise StoreError("sqlite", EMPTY)
    if _version(connection) < len(MIGRATIONS):
        raise StoreError("sqlite", OLDER)


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _version(connection: sqlite3.Connection) -> int:
    """
    Return the version of the file. Raises ``StoreError`` for one that is not known yet.
    """
    (version,) = connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchone()
    if version > len(MIGRATIONS):
        raise StoreError("sqlite", "the file was made by a later version")
    return int(version)


def _migrate(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY)")
    version = _version(connection)
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        for statement in statements:
            connection.execute(statement)
        connection.execute("INSERT INTO schema_version VALUES (?)", (number,))
    connection.execute("COMMIT")


def _move_aside(path: Path, corrupted: os.stat_result) -> None:
    # Another worker may have been here first: its new, sound file must not be moved.
    if not os.path.samestat(path.stat(), corrupted):
        return
    path.replace(path.with_name(path.name + ".corrupt"))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
