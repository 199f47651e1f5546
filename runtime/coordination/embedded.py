"""Coordination in one SQLite file, for all processes of a machine.

A write is one transaction, which takes the write lock first.  Then it reads the clock, ends the sessions that
have expired, and checks its own session.  So a process that was stopped at any point either held the write
lock meanwhile, or detects whether its session has ended.  A killed process leaves no partial write.

All processes must share one monotonic clock, such as `time.monotonic` on one machine.  A session whose end is
further ahead than its lifetime was opened before a restart of the machine, so it has ended.

SQLite has no checksums on its pages, so each row has a hash of its content.  Each commit is copied from the
write-ahead log to the file immediately, because SQLite would silently ignore a damaged part of the log.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import xxhash

from fsql.runtime.coordination.port import (
    Changes,
    CoordinationDiskError,
    CoordinationUnavailableError,
    DamagedCoordinationError,
    Entry,
    EntryChangedError,
    EntryExistsError,
    SessionExpiredError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FILE: Final = "coordination.sqlite"
"""The name of the file in a state directory."""
FORMAT: Final = 1
"""The version of the format, which is the `user_version` of the file."""
_BUSY_SECONDS: Final = 5.0
_ATTEMPTS: Final = 100
"""How often something is tried in the time in which another process may be busy."""
_DISK_FAILED: Final = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
)
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
"""Includes SQLITE_ERROR: the statements are correct, so the tables are not those created here."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, ttl REAL NOT NULL, ends REAL NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
  key TEXT PRIMARY KEY, value BLOB, version INTEGER NOT NULL UNIQUE, session INTEGER, hash BLOB NOT NULL)
"""
"""A deleted entry remains as a row without a value, so that versions always increase over all rows."""


class EmbeddedCoordination:
    """A connection to the file; each process, and each thread, has its own.

    Args:
        path: the file; SQLite keeps auxiliary files in the same directory.
        create: create the file, readable by its owner only, if there is none.  Otherwise a missing
            file is damage: what was decided is lost.
        read_only: write nothing, not even SQLite's auxiliary files.
        clock: seconds; see above.
        busy_seconds: how long to wait for another process to finish its write.

    Raises:
        DamagedCoordinationError: if the file is not what was written.
        CoordinationUnavailableError: if it cannot be opened now.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool,
        read_only: bool = False,
        clock: Callable[[], float] = time.monotonic,
        busy_seconds: float = _BUSY_SECONDS,
    ) -> None:
        self._path = path
        self._clock = clock
        if not create and not path.is_file():
            raise DamagedCoordinationError(f'the coordination file "{path}" is missing')
        with self._translate_errors():
            if create:
                _make(path)
            self._connection = self._connect(read_only=read_only, busy_seconds=busy_seconds)
        try:
            version = self._format(create=create, read_only=read_only, busy_seconds=busy_seconds)
            if not read_only:
                self._prepare(version, busy_seconds)
            self._check()
        except BaseException:
            self._connection.close()
            raise

    def _connect(self, *, read_only: bool, busy_seconds: float) -> sqlite3.Connection:
        return sqlite3.connect(
            _uri(self._path, read_only=read_only),
            uri=True,
            timeout=busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )

    def _format(self, *, create: bool, read_only: bool, busy_seconds: float) -> int:
        """Return the number of the file's format, 0 if it is new.

        Another process may have made the file and be about to create its tables.  A reader that takes no
        locks does not see that they come, so it connects again.
        """
        with self._translate_errors():
            for _ in range(_ATTEMPTS):
                (version,) = self._connection.execute("PRAGMA user_version").fetchone()
                if version or create:
                    break
                time.sleep(busy_seconds / _ATTEMPTS)
                self._connection.close()
                self._connection = self._connect(read_only=read_only, busy_seconds=busy_seconds)
            else:
                raise self._damage_error("it is empty")
            if version not in {0, FORMAT}:
                raise self._damage_error(f"its format is {version}, and this is {FORMAT}")
        return int(version)

    def _prepare(self, version: int, busy_seconds: float) -> None:
        """Make writes durable, and create the tables if there are none."""
        with self._translate_errors():
            self._use_log(busy_seconds)
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA wal_autocheckpoint = 1")
            if version == 0:
                with self._transaction():
                    for statement in _TABLES.split(";"):
                        self._connection.execute(statement)
                    self._connection.execute(f"PRAGMA user_version = {FORMAT}")

    def _check(self) -> None:
        with self._translate_errors():
            (found,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise self._damage_error(found)

    def _use_log(self, busy_seconds: float) -> None:
        """Turn on the write-ahead log; SQLite's busy timeout does not apply to this."""
        for attempt in range(_ATTEMPTS):
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(busy_seconds / _ATTEMPTS)
            else:
                return

    # --- Sessions ---

    def open_session(self, ttl_seconds: float) -> int:
        """Return a new session."""
        with self._write_transaction() as now:
            made = self._connection.execute(
                "INSERT INTO sessions (ttl, ends) VALUES (?, ?)", (ttl_seconds, now + ttl_seconds)
            )
            assert made.lastrowid is not None
            return made.lastrowid

    def keep_alive(self, session: int) -> None:
        """Keep the session alive for its `ttl_seconds` from now on."""
        with self._write_transaction(session) as now:
            self._connection.execute(
                "UPDATE sessions SET ends = ? + ttl WHERE id = ?", (now, session)
            )

    def close_session(self, session: int) -> None:
        """End the session, if it has not ended."""
        with self._write_transaction():
            self._end(session)

    def _expired_sessions(self, now: float) -> list[int]:
        """Return the sessions that have expired."""
        rows = self._connection.execute("SELECT id FROM sessions ORDER BY id").fetchall()
        return [session for (session,) in rows if not self._is_alive(session, now)]

    def _is_alive(self, session: int, now: float) -> bool:
        row = self._connection.execute(
            "SELECT ? < ends AND ends <= ? + ttl FROM sessions WHERE id = ?", (now, now, session)
        ).fetchone()
        return row is not None and bool(row[0])

    def _end(self, session: int) -> None:
        held = self._connection.execute(
            "SELECT key FROM entries WHERE session = ? ORDER BY key", (session,)
        )
        for (key,) in held.fetchall():
            self._write(key, None, None)
        self._connection.execute("DELETE FROM sessions WHERE id = ?", (session,))

    # --- Entries ---

    def get(self, key: str) -> Entry | None:
        """Return the entry under a key, None if there is none."""
        with self._translate_errors():
            entry = self._current(key)
            if (
                entry is None
                or entry.session is None
                or self._is_alive(entry.session, self._clock())
            ):
                return entry
        return None

    def create(self, session: int, key: str, value: bytes, *, ephemeral: bool = False) -> Entry:
        """Create an entry."""
        with self._write_transaction(session):
            if self._current(key) is not None:
                raise EntryExistsError(f'there is an entry "{key}"')
            return self._write(key, value, session if ephemeral else None)

    def replace(self, session: int, key: str, value: bytes, version: int) -> Entry:
        """Replace the value of the entry of that version."""
        with self._write_transaction(session):
            return self._write(key, value, self._entry_of_version(key, version).session)

    def delete(self, session: int, key: str, version: int) -> None:
        """Delete the entry of that version."""
        with self._write_transaction(session):
            self._entry_of_version(key, version)
            self._write(key, None, None)

    def changes_since(self, mark: int) -> Changes:
        """Return what has changed since `mark`; end the sessions that have expired."""
        with self._translate_errors():
            over = self._expired_sessions(self._clock())
        if over:
            with self._write_transaction():
                pass
        with self._translate_errors():
            rows = self._connection.execute(
                "SELECT key, version FROM entries WHERE version > ?", (mark,)
            ).fetchall()
        return Changes(
            max([mark, *(row[1] for row in rows)]), tuple(sorted(row[0] for row in rows))
        )

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _current(self, key: str) -> Entry | None:
        row = self._connection.execute(
            "SELECT key, value, version, session, hash FROM entries WHERE key = ?", (key,)
        ).fetchone()
        return None if row is None else self._entry(*row)

    def _entry_of_version(self, key: str, version: int) -> Entry:
        entry = self._current(key)
        if entry is None or entry.version != version:
            found = "there is none" if entry is None else f"it is {entry.version}"
            raise EntryChangedError(f'entry "{key}" is not of version {version}: {found}')
        return entry

    def _entry(
        self, key: str, value: bytes | None, version: int, session: int | None, found: bytes
    ) -> Entry | None:
        try:
            whole = found == _row_hash(key, value, version, session)
        except (TypeError, struct.error):  # SQLite lets any value be in any column
            whole = False
        if not whole:
            raise self._damage_error(f'entry "{key}" does not have its hash')
        return None if value is None else Entry(key, value, version, session)

    def _write(self, key: str, value: bytes | None, session: int | None) -> Entry:
        (version,) = self._connection.execute(
            "SELECT coalesce(max(version), 0) + 1 FROM entries"
        ).fetchone()
        self._connection.execute(
            "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?)",
            (key, value, version, session, _row_hash(key, value, version, session)),
        )
        return Entry(key, value or b"", version, session)

    # --- Transactions ---

    @contextmanager
    def _write_transaction(self, session: int | None = None) -> Iterator[float]:
        """Run one write transaction, under a live session if one is given; yield the time."""
        with self._translate_errors(), self._transaction():
            now = self._clock()  # under the lock: no other process writes before the commit
            for ended in self._expired_sessions(now):
                self._end(ended)
            alive = session is None or self._is_alive(session, now)
            if alive:
                yield now
        if not alive:
            raise SessionExpiredError(f"session {session} has ended")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate the errors of SQLite into those of the port."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code in _DAMAGED:
                raise self._damage_error(str(error)) from None
            kind = CoordinationDiskError if code in _DISK_FAILED else CoordinationUnavailableError
            reason = (
                "another process keeps it locked" if code == sqlite3.SQLITE_BUSY else str(error)
            )
            raise kind(f'cannot use the coordination file "{self._path}": {reason}') from None
        except UnicodeDecodeError:  # SQLite's message quotes damaged text of the file
            raise self._damage_error("it has invalid text") from None

    def _damage_error(self, reason: str) -> DamagedCoordinationError:
        return DamagedCoordinationError(
            f'the coordination file "{self._path}" is damaged: {reason}'
        )


def _make(path: Path) -> None:
    """Create the file, if there is none, before SQLite does: its auxiliary files get its permissions.

    A file that exists is not opened: closing it would end the locks that other connections of this process
    have on it.
    """
    with suppress(OSError):  # SQLite reports the error
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _uri(path: Path, *, read_only: bool) -> str:
    """Return the file's name for SQLite.

    A reader may lack the permission to write the auxiliary files by which SQLite separates readers from
    writers.  If there is no log, there is no writer, and the reader does not need them.
    """
    mode = "rw"
    if read_only:
        log = path.with_name(f"{path.name}-wal")
        mode = "ro" if log.exists() and log.stat().st_size else "ro&immutable=1"
    return f"file:{quote(str(path))}?mode={mode}"


def _row_hash(key: str, value: bytes | None, version: int, session: int | None) -> bytes:
    numbers = struct.pack("<qq?", version, -1 if session is None else session, value is None)
    name = key.encode(errors="surrogatepass")
    return xxhash.xxh3_128_digest(struct.pack("<q", len(name)) + name + numbers + (value or b""))
